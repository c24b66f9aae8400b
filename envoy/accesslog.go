package envoy

import (
	"maps"
	"time"
)

// FileFlushInterval is how often Envoy writes buffered log lines to their
// file in every arm: the flag that Proxy sets where its Flags do not. Envoy's
// own default is 10 s.
const FileFlushInterval = time.Second

// fileFlushFlag is that flag, in milliseconds.
const fileFlushFlag = "file-flush-interval-msec"

// accessLogPath is every HTTP connection manager of every listener.
const accessLogPath = "static_resources.listeners[*].filter_chains[*].filters[HttpConnectionManager].typed_config.access_log"

// FileAccessLog is an access log in Envoy's default text format, written to
// the file at path by every HTTP connection manager. A relative path is a
// file in the process's run directory, the same in every arm.
//
// Proof: filesystem.write_buffered grows by one a request and write_failed
// not at all; the counters are of all log files of the process, so a base
// that logs already needs a proof of its own. Lines are written out each
// FileFlushInterval, or at 64 KiB, which is the period.
func FileAccessLog(path string) Change {
	return fileAccessLog("file access log (text)", map[string]any{"path": path})
}

// JSONAccessLog is FileAccessLog with one JSON object a line: fields maps its
// keys to Envoy's format strings. Nil means JSONAccessLogFields.
func JSONAccessLog(path string, fields map[string]string) Change {
	if fields == nil {
		fields = JSONAccessLogFields()
	}
	return fileAccessLog("file access log (JSON)", map[string]any{
		"path":       path,
		"log_format": map[string]any{"json_format": maps.Clone(fields)},
	})
}

// StdoutAccessLog is JSONAccessLog to standard output, as containers have it;
// Start puts that into the process's log file. Proof, period and fields are
// those of JSONAccessLog.
func StdoutAccessLog(fields map[string]string) Change {
	if fields == nil {
		fields = JSONAccessLogFields()
	}
	return accessLog("stdout access log (JSON)", "stdout", "stream.v3.StdoutAccessLog", map[string]any{
		"log_format": map[string]any{"json_format": maps.Clone(fields)},
	})
}

// JSONAccessLogFields are the fields of JSONAccessLog's default, 15 of them:
// what Envoy's default text format says about a request, by name.
func JSONAccessLogFields() map[string]string {
	return map[string]string{
		"time":            "%START_TIME%",
		"method":          "%REQ(:METHOD)%",
		"path":            "%REQ(X-ENVOY-ORIGINAL-PATH?:PATH)%",
		"protocol":        "%PROTOCOL%",
		"status":          "%RESPONSE_CODE%",
		"flags":           "%RESPONSE_FLAGS%",
		"bytes_in":        "%BYTES_RECEIVED%",
		"bytes_out":       "%BYTES_SENT%",
		"duration_ms":     "%DURATION%",
		"upstream_ms":     "%RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)%",
		"x_forwarded_for": "%REQ(X-FORWARDED-FOR)%",
		"user_agent":      "%REQ(USER-AGENT)%",
		"request_id":      "%REQ(X-REQUEST-ID)%",
		"authority":       "%REQ(:AUTHORITY)%",
		"upstream":        "%UPSTREAM_HOST%",
	}
}

func fileAccessLog(name string, config map[string]any) Change {
	return accessLog(name, "file", "file.v3.FileAccessLog", config)
}

func accessLog(name, logger, message string, config map[string]any) Change {
	return Change{
		Name: name,
		Ops: []Op{Append(accessLogPath, map[string]any{
			"name":         "envoy.access_loggers." + logger,
			"typed_config": typed("envoy.extensions.access_loggers."+message, config),
		})},
		Proof: []Expect{
			{Stat: "filesystem.write_buffered", Is: IsRequests},
			{Stat: "filesystem.write_failed", Is: IsZero},
		},
		Period:     FileFlushInterval,
		PeriodFlag: fileFlushFlag,
	}
}
