package envoy

import "fmt"

// LocalRateLimit counts requests against a bucket of that many tokens, filled
// again each second, which no request of a measurement should empty. Proof:
// one request let through for each served.
func LocalRateLimit(perSecond uint32) Change {
	percent := func() map[string]any {
		return map[string]any{"default_value": map[string]any{"numerator": 100, "denominator": "HUNDRED"}}
	}
	return Change{
		Name: fmt.Sprintf("local rate limit (%d a second)", perSecond),
		Ops: []Op{beforeRouter("local_ratelimit", "envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit", map[string]any{
			"stat_prefix":     "tare",
			"token_bucket":    map[string]any{"max_tokens": perSecond, "tokens_per_fill": perSecond, "fill_interval": "1s"},
			"filter_enabled":  percent(),
			"filter_enforced": percent(),
		})},
		Proof: []Expect{
			{Stat: "tare.http_local_rate_limit.ok", Is: IsRequests},
			{Stat: "tare.http_local_rate_limit.rate_limited", Is: IsZero},
		},
	}
}

// LuaScript is the default of Lua.
const LuaScript = `function envoy_on_request(handle)
  handle:headers():add("x-tare-lua", "1")
end
`

// Lua runs a script on every request; empty means LuaScript. Proof: the dump,
// and no error of a script in the window.
func Lua(script string) Change {
	if script == "" {
		script = LuaScript
	}
	return Change{
		Name: "Lua filter",
		Ops: []Op{beforeRouter("lua", "envoy.extensions.filters.http.lua.v3.Lua", map[string]any{
			"default_source_code": map[string]any{"inline_string": script},
		})},
		Proof: []Expect{{Stat: "http.*.lua.errors", Is: IsZero}},
	}
}

// RBAC holds every request against a policy that allows all. Proof: one
// allowed for each request.
func RBAC() Change {
	anything := []any{map[string]any{"any": true}}
	return Change{
		Name: "RBAC (one policy that allows all)",
		Ops: []Op{beforeRouter("rbac", "envoy.extensions.filters.http.rbac.v3.RBAC", map[string]any{
			"rules": map[string]any{"action": "ALLOW", "policies": map[string]any{
				"all": map[string]any{"permissions": anything, "principals": anything},
			}},
		})},
		Proof: []Expect{
			{Stat: "http.*.rbac.allowed", Is: IsRequests},
			{Stat: "http.*.rbac.denied", Is: IsZero},
		},
	}
}

// GzipCompression compresses responses of at least minimum bytes for clients
// that ask for it. Proof: compressed grows, so the load must send
// "Accept-Encoding: gzip" and the bodies be that large, of a
// type that Envoy compresses by default, such as text/plain.
func GzipCompression(minimum uint32) Change {
	return Change{
		Name: fmt.Sprintf("gzip compression from %d bytes on", minimum),
		Ops: []Op{beforeRouter("compressor", "envoy.extensions.filters.http.compressor.v3.Compressor", map[string]any{
			"response_direction_config": map[string]any{"common_config": map[string]any{
				"min_content_length": minimum,
			}},
			"compressor_library": map[string]any{
				"name":         "gzip",
				"typed_config": typed("envoy.extensions.compression.gzip.compressor.v3.Gzip", nil),
			},
		})},
		Proof: []Expect{{Stat: "http.*.compressor.*.compressed", Is: IsPositive}},
		Needs: []string{"a load that accepts gzip"},
	}
}
