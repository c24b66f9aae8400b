package abtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/tareperf/tare/envoy"
)

// envoyDriver starts Envoy.
type envoyDriver struct {
	proxy  envoy.Proxy
	binary envoy.Binary
	proof  []envoy.Expect
}

// envoyFinder remembers what it found: arms mostly share a binary, and to
// identify one is to run it and to hash its hundred megabytes.
type envoyFinder map[envoy.FindOptions]envoy.Binary

func (f envoyFinder) find(p envoy.Proxy) (envoy.Binary, error) {
	asked := envoy.FindOptions{Path: p.Binary, Version: p.Version}
	if b, ok := f[asked]; ok {
		return b, nil
	}
	b, err := p.Find()
	if err == nil {
		f[asked] = b
	}
	return b, err
}

func describeEnvoy(ctx context.Context, p envoy.Proxy, proxyCPUs int, find envoyFinder) (driver, error) {
	if p.Concurrency == 0 {
		p.Concurrency = proxyCPUs
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	binary, err := find.find(p)
	if err != nil {
		return nil, err
	}
	if err := validateEnvoy(ctx, binary, p); err != nil {
		return nil, err
	}
	d := &envoyDriver{proxy: p, binary: binary}
	for _, c := range p.Bootstrap.Changes() {
		d.proof = append(d.proof, c.Proof...)
	}
	return d, nil
}

// validateEnvoy has the very binary that will run a bootstrap read it.
func validateEnvoy(ctx context.Context, binary envoy.Binary, p envoy.Proxy) error {
	dir, err := os.MkdirTemp("", "tare-validate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	text, err := p.Bootstrap.Render(envoy.Vars{envoy.OriginAddress: "127.0.0.1", envoy.OriginPort: "9"})
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "bootstrap.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	return envoy.Validate(ctx, binary, file)
}

func (d *envoyDriver) record() ArmRecord {
	flags, _ := d.proxy.CommandLine() // Check has seen that there is no error
	return ArmRecord{
		Flags: flags, Target: d.proxy.Kind(), Binary: d.binary.Path, SHA256: d.binary.SHA256,
		Version: d.binary.Full, Build: envoyBuild(d.binary), Period: d.proxy.Period(),
	}
}

func (d *envoyDriver) declared(baseline *envoyDriver) ([]envoy.Difference, error) {
	found, err := envoy.DeclaredDifference(baseline.proxy, d.proxy)
	if err != nil {
		return nil, err
	}
	// Two descriptions may ask for one binary in two ways, or for two by one.
	found = slices.DeleteFunc(found, func(f envoy.Difference) bool { return f.Where == envoy.InBinary })
	if d.binary.SHA256 != baseline.binary.SHA256 {
		found = append(found, envoy.Difference{
			Where: envoy.InBinary, Path: "sha256",
			A: []byte(strconv.Quote(baseline.binary.SHA256)), B: []byte(strconv.Quote(d.binary.SHA256)),
		})
	}
	return found, nil
}

func (d *envoyDriver) differences(baseline driver) ([]string, error) {
	found, err := d.declared(baseline.(*envoyDriver))
	if err != nil {
		return nil, err
	}
	var text []string
	for _, f := range found {
		text = append(text, f.String())
	}
	return text, nil
}

// envoyEffective is what an Envoy runs, and the driver that started it.
type envoyEffective struct {
	envoy.Effective
	driver *envoyDriver
}

func (d *envoyDriver) checkEffective(mine, baseline effective) error {
	m, b := mine.(envoyEffective), baseline.(envoyEffective)
	declared, err := d.declared(b.driver)
	if err != nil {
		return err
	}
	found, err := envoy.CompareEffective(b.Effective, m.Effective)
	if err != nil {
		return err
	}
	return envoy.CheckEffective(declared, found)
}

func (d *envoyDriver) start(ctx context.Context, o startOptions) (proxy, error) {
	host, port, err := net.SplitHostPort(o.origin)
	if err != nil {
		return nil, err
	}
	p, err := envoy.Start(ctx, envoy.StartOptions{
		Binary: d.binary, Proxy: d.proxy, Dir: o.dir, Name: o.name, Ledger: o.ledger, Hold: o.hold,
		Vars: envoy.Vars{envoy.OriginAddress: host, envoy.OriginPort: port},
	})
	if err != nil {
		return nil, err
	}
	return &envoyLive{Process: p, driver: d}, nil
}

// envoyLive is an Envoy that runs.
type envoyLive struct {
	*envoy.Process
	driver *envoyDriver
}

func (l *envoyLive) stop(time.Duration) error { return l.Process.Stop() }

func (l *envoyLive) effective(ctx context.Context) (effective, error) {
	e, err := l.Process.Effective(ctx)
	return envoyEffective{e, l.driver}, err
}

func (l *envoyLive) problems() []string {
	found, err := l.Process.LogProblems()
	if err != nil {
		return []string{fmt.Sprintf("its log cannot be read: %v", err)}
	}
	var text []string
	for _, p := range found {
		text = append(text, fmt.Sprint(p))
	}
	return text
}

func (l *envoyLive) buildType(e effective) (want, got string) {
	v, err := envoy.ParseVersion(e.(envoyEffective).Version)
	if err != nil {
		return "RELEASE", ""
	}
	return "RELEASE", v.BuildType
}

func (l *envoyLive) wantWorkers() int { return l.driver.proxy.Concurrency }

func (l *envoyLive) workers() (map[string]int64, error) {
	workers, err := envoy.WorkerRunNanoseconds(l.Pid())
	if err != nil {
		return nil, err
	}
	runs := map[string]int64{}
	for _, w := range workers {
		runs[fmt.Sprintf("worker %d", w.Index)] = w.RunNanoseconds
	}
	return runs, nil
}

func (l *envoyLive) counts(ctx context.Context) (counts, error) { return l.Admin().Stats(ctx) }

func (l *envoyLive) served(before, after counts, completed int64) (servedWindow, error) {
	b, okB := before.(envoy.Stats)
	a, okA := after.(envoy.Stats)
	if !okB || !okA {
		return servedWindow{}, errors.New("its counters were not read at both borders")
	}
	delta, err := a.Since(b)
	if err != nil {
		return servedWindow{}, err
	}
	s, err := envoy.ServedBy(delta)
	if err != nil {
		return servedWindow{}, err
	}
	w := servedWindow{
		served: s.Completed, stat: "downstream_rq_completed",
		counters: map[string]int64{
			"downstream_rq_total": s.Requests, "downstream_rq_completed": s.Completed, "downstream_rq_2xx": s.Status2xx,
			"upstream_rq_total": s.UpstreamRequests, "upstream_cx_total": s.UpstreamConnectionsOpened,
		},
	}
	w.mustBe("downstream_rq_total", s.Requests, completed)
	for name, n := range map[string]int64{
		"downstream_rq_3xx": s.Status3xx, "downstream_rq_4xx": s.Status4xx, "downstream_rq_5xx": s.Status5xx,
		"downstream_rq_rx_reset": s.Resets, "downstream_rq_timeout": s.Timeouts, "downstream_cx_protocol_error": s.ProtocolErrors,
		"upstream_cx_connect_fail": s.UpstreamConnectFailures, "upstream_rq_timeout": s.UpstreamTimeouts,
		"upstream_rq_rx_reset": s.UpstreamResets, "upstream_cx_destroy_with_active_rq": s.UpstreamCutOff,
		"upstream_rq_retry": s.Retries, "overflows of its limits": s.Overflow, "watchdog misses": s.WatchdogMisses,
	} {
		w.mustBe(name, n, 0)
	}
	if err := envoy.CheckProof(l.driver.proof, delta, completed); err != nil {
		w.problems = append(w.problems, err.Error())
	}
	return w, nil
}

// envoyBuild says where a binary is from, as far as its digest tells.
func envoyBuild(b envoy.Binary) string {
	if b.Source == "" {
		return "a build of unknown source"
	}
	return b.Source
}
