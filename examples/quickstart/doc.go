// Package quickstart holds the smallest real experiment: what a proxy's access
// log costs in CPU per request.
//
//	go test -v -count=1 -run TestQuickstart ./examples/quickstart
//
// It needs Go and nothing else. If an Envoy is found (TARE_ENVOY, PATH, the
// cache that scripts/test fills, and the other usual places) the experiment
// prices Envoy's file access log; if not, that of a small reverse proxy which
// is part of this module. It says which.
package quickstart
