package abtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tareperf/tare/internal/procfs"
	"github.com/tareperf/tare/internal/smallproxy"
	"github.com/tareperf/tare/internal/smallserver"
)

// embeddedDriver starts this binary as the embedded proxy.
type embeddedDriver struct {
	config smallproxy.Config
	binary string
	sha256 string
}

func describeEmbedded(t EmbeddedProxy, proxyCPUs int) (driver, error) {
	switch t.AccessLog {
	case "", "text", "json":
	default:
		return nil, &InputError{"EmbeddedProxy.AccessLog", fmt.Sprintf("%q", t.AccessLog), `use "" (none), "text" or "json"`}
	}
	if t.FlushInterval < 0 || t.Workers < 0 {
		return nil, &InputError{"EmbeddedProxy", fmt.Sprintf("%+v", t), "use no negative values"}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	sum, err := fileSHA256(self)
	if err != nil {
		return nil, err
	}
	d := &embeddedDriver{binary: self, sha256: sum, config: smallproxy.Config{
		AccessLog: t.AccessLog, FlushInterval: t.FlushInterval, Workers: t.Workers,
	}}
	if d.config.FlushInterval == 0 {
		d.config.FlushInterval = time.Second
	}
	if d.config.Workers == 0 {
		d.config.Workers = proxyCPUs
	}
	return d, nil
}

func (d *embeddedDriver) record() ArmRecord {
	r := ArmRecord{
		Target: EmbeddedProxy{}.Kind(), Binary: d.binary, SHA256: d.sha256,
		Version: "this program", Build: "go test or go build",
	}
	if d.config.AccessLog != "" {
		r.Period = d.config.FlushInterval
	}
	return r
}

func (d *embeddedDriver) differences(baseline driver) ([]string, error) {
	b := baseline.(*embeddedDriver).config
	var out []string
	add := func(field string, a, b any) {
		if a != b {
			out = append(out, fmt.Sprintf("%s: %v -> %v", field, a, b))
		}
	}
	add("access log", logName(b.AccessLog), logName(d.config.AccessLog))
	add("flush interval", b.FlushInterval, d.config.FlushInterval)
	add("workers", b.Workers, d.config.Workers)
	return out, nil
}

func logName(form string) string {
	if form == "" {
		return "off"
	}
	return form
}

// embeddedLive is an embedded proxy that runs.
type embeddedLive struct {
	*helper
	driver *embeddedDriver
	ready  smallserver.Ready
}

func (d *embeddedDriver) start(ctx context.Context, o startOptions) (proxy, error) {
	c := d.config
	c.Origin = o.origin
	if c.AccessLog != "" {
		c.AccessLogPath = filepath.Join(o.dir, "access.log")
	}
	h, err := startHelper(ctx, helperSpec{
		helper: helperProxy, name: o.name, dir: o.dir, config: c, hold: o.hold, ledger: o.ledger,
	})
	if err != nil {
		return nil, err
	}
	l := &embeddedLive{helper: h, driver: d}
	if l.ready, err = h.serverReady(ctx, smallproxy.Name); err != nil {
		h.Stop(0)
		return nil, err
	}
	return l, nil
}

func (l *embeddedLive) Address() string { return l.ready.Address }

func (l *embeddedLive) stop(grace time.Duration) error { return l.helper.Stop(grace) }

func (l *embeddedLive) problems() []string { return nil }

func (l *embeddedLive) buildType(effective) (want, got string) { return "", "" }

func (l *embeddedLive) counts(ctx context.Context) (counts, error) {
	return smallproxy.ReadAtRest(ctx, l.ready)
}

func (l *embeddedLive) served(before, after counts, completed int64) (servedWindow, error) {
	b, okB := before.(smallproxy.Stats)
	a, okA := after.(smallproxy.Stats)
	if !okB || !okA {
		return servedWindow{}, errors.New("its counters were not read at both borders")
	}
	d := func(after, before uint64) int64 { return int64(after - before) }
	w := servedWindow{
		served: d(a.Completed, b.Completed), stat: "completed",
		counters: map[string]int64{
			"completed": d(a.Completed, b.Completed), "log_lines_written": d(a.LogLinesWritten, b.LogLinesWritten),
			"origin_connections_opened": d(a.OriginConnectionsOpened, b.OriginConnectionsOpened),
		},
	}
	w.mustBe("requests_total", d(a.Requests, b.Requests), completed)
	w.mustBe("2xx", d(a.Status2xx, b.Status2xx), completed)
	w.mustBe("aborted", d(a.Aborted, b.Aborted), 0)
	w.mustBe("upstream_errors", d(a.UpstreamErrors, b.UpstreamErrors), 0)
	w.mustBe("log_errors", d(a.LogErrors, b.LogErrors), 0)
	lines := int64(0)
	if l.driver.config.AccessLog != "" {
		lines = completed
	}
	w.mustBe("log_lines_written", d(a.LogLinesWritten, b.LogLinesWritten), lines)
	return w, nil
}

// workers of a Go program cannot be told apart: its threads share the work.
func (l *embeddedLive) workers() (map[string]int64, error) {
	threads, err := procfs.FS{}.ThreadRuns(l.Pid())
	if err != nil {
		return nil, err
	}
	total := int64(0)
	for _, t := range threads {
		total += t.RunNanoseconds
	}
	return map[string]int64{"all threads": total}, nil
}

func (l *embeddedLive) effective(ctx context.Context) (effective, error) {
	s, err := smallproxy.ReadStats(ctx, l.ready)
	return s.Config, err
}

// checkEffective holds the running proxy to what it was told, and all that it
// was not told to the baseline.
func (d *embeddedDriver) checkEffective(mine, baseline effective) error {
	m, b := mine.(smallproxy.Effective), baseline.(smallproxy.Effective)
	for _, f := range []struct {
		what      string
		got, want any
	}{
		{"access log", m.Config.AccessLog, d.config.AccessLog},
		{"flush interval", m.Config.FlushInterval, d.config.FlushInterval},
		{"workers", m.Config.Workers, d.config.Workers},
		{"origin", m.Config.Origin, b.Config.Origin},
		{"threads running Go code", m.Runtime.Workers, d.config.Workers},
		{"Go version", m.Runtime.Go, b.Runtime.Go},
		{"GC percent", m.Runtime.GCPercent, b.Runtime.GCPercent},
		{"ballast", m.Runtime.BallastBytes, b.Runtime.BallastBytes},
		{"origin connections", m.MaxOriginConnections, b.MaxOriginConnections},
		{"origin timeout", m.OriginTimeoutNanoseconds, b.OriginTimeoutNanoseconds},
		{"log buffer", m.LogBufferBytes, b.LogBufferBytes},
	} {
		if f.got != f.want {
			return fmt.Errorf("%s is %v, want %v", f.what, f.got, f.want)
		}
	}
	return nil
}

func (l *embeddedLive) wantWorkers() int { return 1 }
