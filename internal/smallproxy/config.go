package smallproxy

import (
	"fmt"
	"net"
	"time"

	"github.com/tareperf/tare/internal/smallserver"
)

// Name is what the proxy calls itself in its ready line and admin answers.
const Name = "smallproxy"

// Forms of the access log.
const (
	LogOff  = ""
	LogText = "text"
	LogJSON = "json"
)

// Fixed settings, part of the effective configuration.
const (
	maxOriginConnections = 512
	originTimeout        = 15 * time.Second // to connect, and from request to response head
	logBufferBytes       = 64 << 10
	endWithin            = 2 * time.Second
)

// Config is what a proxy is told. Origin must be given.
type Config struct {
	// Listen is the host:port to serve on. Default "127.0.0.1:0".
	Listen string `json:"listen,omitempty"`
	// AdminListen is the host:port of the admin. Default "127.0.0.1:0".
	AdminListen string `json:"admin_listen,omitempty"`
	// Origin is the host:port that requests are sent to.
	Origin string `json:"origin"`
	// AccessLog is LogOff (default), LogText or LogJSON.
	AccessLog string `json:"access_log,omitempty"`
	// AccessLogPath is the file that lines are appended to; it is created when
	// absent. It must be given when, and only when, there is a log.
	AccessLogPath string `json:"access_log_path,omitempty"`
	// FlushInterval is the longest time that a line stays in the buffer, in
	// nanoseconds. Default one second.
	FlushInterval time.Duration `json:"flush_interval_nanoseconds,omitempty"`
	// Workers is how many threads run Go code at the same time. Default 1.
	Workers int `json:"workers,omitempty"`
}

func (c Config) withDefaults() (Config, error) {
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	if c.AdminListen == "" {
		c.AdminListen = "127.0.0.1:0"
	}
	if c.FlushInterval == 0 {
		c.FlushInterval = time.Second
	}
	if c.Workers == 0 {
		c.Workers = 1
	}
	if c.Workers < 0 {
		return c, fmt.Errorf("proxy: Workers is %d; give 1 or more, or 0 for the default", c.Workers)
	}
	if c.FlushInterval < 0 {
		return c, fmt.Errorf("proxy: FlushInterval is %v; give a positive one, or 0 for the default", c.FlushInterval)
	}
	if _, _, err := net.SplitHostPort(c.Origin); err != nil {
		return c, fmt.Errorf("proxy: Origin %q is not a host:port: %w", c.Origin, err)
	}
	switch c.AccessLog {
	case LogOff:
		if c.AccessLogPath != "" {
			return c, fmt.Errorf("proxy: AccessLogPath is %q but AccessLog is off; set AccessLog to %q or %q", c.AccessLogPath, LogText, LogJSON)
		}
	case LogText, LogJSON:
		if c.AccessLogPath == "" {
			return c, fmt.Errorf("proxy: AccessLog is %q without an AccessLogPath; give the file", c.AccessLog)
		}
	default:
		return c, fmt.Errorf("proxy: AccessLog is %q; give %q, %q or nothing", c.AccessLog, LogText, LogJSON)
	}
	return c, nil
}

// Effective is the configuration that a proxy runs with: defaults filled in, and
// what cannot be configured. It is the answer to /config.
type Effective struct {
	Config                   Config              `json:"config"`
	Runtime                  smallserver.Runtime `json:"runtime"`
	MaxOriginConnections     int                 `json:"max_origin_connections"`
	OriginTimeoutNanoseconds int64               `json:"origin_timeout_nanoseconds"`
	LogBufferBytes           int                 `json:"log_buffer_bytes"`
}

func effective(c Config, r smallserver.Runtime) Effective {
	return Effective{
		Config:                   c,
		Runtime:                  r,
		MaxOriginConnections:     maxOriginConnections,
		OriginTimeoutNanoseconds: originTimeout.Nanoseconds(),
		LogBufferBytes:           logBufferBytes,
	}
}
