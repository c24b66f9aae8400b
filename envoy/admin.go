package envoy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// adminTimeout bounds one request to the admin interface.
const adminTimeout = 10 * time.Second

// maxAdminBody bounds an answer; a dump of 10,000 routes is about 10 MB.
const maxAdminBody = 256 << 20

// Admin asks a running Envoy. Every question is answered by Envoy's main
// thread and is part of what the process costs: on one core about a
// millisecond for Stats and ten for ConfigDump. So read before and after a
// window, never inside it.
type Admin struct {
	address string
	source  string // for Stats
	release string
	client  *http.Client
}

// NewAdmin is for an Envoy that something else started; address is host:port
// of its admin interface. Process.Admin gives that of one started here.
func NewAdmin(address string) *Admin {
	return &Admin{
		address: address,
		source:  address,
		client: &http.Client{
			Timeout: adminTimeout,
			// No proxy from the environment, and no connection left open: an
			// idle one would be in Envoy's own connection statistics.
			Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true},
		},
	}
}

// Address is host:port of the admin interface.
func (a *Admin) Address() string { return a.address }

func (a *Admin) get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+a.address+path, nil)
	if err != nil {
		return nil, fmt.Errorf("envoy admin %s: %w", path, err)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("envoy admin: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAdminBody+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("envoy admin %s: %w", path, err)
	case len(body) > maxAdminBody:
		return nil, fmt.Errorf("envoy admin %s: the answer is larger than %d bytes", path, maxAdminBody)
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("envoy admin %s: status %d, %q", path, resp.StatusCode, clip(strings.TrimSpace(string(body)), 200))
	}
	return body, nil
}

func (a *Admin) getJSON(ctx context.Context, path string, into any) error {
	body, err := a.get(ctx, path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("envoy admin %s: %w", path, err)
	}
	return nil
}

// Ready is nil when /ready answers LIVE.
func (a *Admin) Ready(ctx context.Context) error {
	body, err := a.get(ctx, "/ready")
	if err != nil {
		return err
	}
	if state := strings.TrimSpace(string(body)); state != "LIVE" {
		return fmt.Errorf("envoy is %q, want LIVE", clip(state, 60))
	}
	return nil
}

// Stats reads all counters and gauges: two requests, one after the other.
// The values are live, nothing waits for a flush.
func (a *Admin) Stats(ctx context.Context) (Stats, error) {
	s := Stats{Source: a.source, Release: a.release}
	for _, kind := range []struct {
		query string
		into  *map[string]int64
	}{{"Counters", &s.Counters}, {"Gauges", &s.Gauges}} {
		body, err := a.get(ctx, "/stats?type="+kind.query)
		if err != nil {
			return Stats{}, err
		}
		if *kind.into, err = parseStats(string(body)); err != nil {
			return Stats{}, fmt.Errorf("envoy admin, %s: %w", strings.ToLower(kind.query), err)
		}
		if len(*kind.into) == 0 {
			return Stats{}, fmt.Errorf("envoy admin: no %s at all", strings.ToLower(kind.query))
		}
	}
	return s, nil
}

// ServerInfo is what an Envoy says about itself.
type ServerInfo struct {
	Version     string // commit/release/tree/build type/SSL library, see ParseVersion
	State       string // "LIVE" once it serves
	CommandLine map[string]json.RawMessage
}

// ServerInfo reads /server_info.
func (a *Admin) ServerInfo(ctx context.Context) (ServerInfo, error) {
	var in struct {
		Version     string                     `json:"version"`
		State       string                     `json:"state"`
		CommandLine map[string]json.RawMessage `json:"command_line_options"`
	}
	if err := a.getJSON(ctx, "/server_info", &in); err != nil {
		return ServerInfo{}, err
	}
	if in.Version == "" || len(in.CommandLine) == 0 {
		return ServerInfo{}, fmt.Errorf("envoy admin /server_info: no version or no command line in the answer")
	}
	return ServerInfo(in), nil
}

// Listener is one listener and where it listens, host:port.
type Listener struct {
	Name    string `json:"name"`
	Address string `json:"address"`
}

// Listeners reads where the listeners listen; one without a socket address is
// left out.
func (a *Admin) Listeners(ctx context.Context) ([]Listener, error) {
	var in struct {
		Statuses []struct {
			Name    string `json:"name"`
			Address struct {
				Socket struct {
					Address string `json:"address"`
					Port    uint16 `json:"port_value"`
				} `json:"socket_address"`
			} `json:"local_address"`
		} `json:"listener_statuses"`
	}
	if err := a.getJSON(ctx, "/listeners?format=json", &in); err != nil {
		return nil, err
	}
	var out []Listener
	for _, l := range in.Statuses {
		if s := l.Address.Socket; s.Address != "" {
			out = append(out, Listener{Name: l.Name, Address: joinHostPort(s.Address, s.Port)})
		}
	}
	return out, nil
}

// Memory is what Envoy's allocator says, in bytes.
type Memory struct {
	AllocatedBytes   uint64 `json:"allocated,string"`
	HeapBytes        uint64 `json:"heap_size,string"`
	UnmappedBytes    uint64 `json:"pageheap_unmapped,string"`
	FreeBytes        uint64 `json:"pageheap_free,string"`
	ThreadCacheBytes uint64 `json:"total_thread_cache,string"`
	PhysicalBytes    uint64 `json:"total_physical_bytes,string"`
}

// Memory reads /memory.
func (a *Admin) Memory(ctx context.Context) (Memory, error) {
	var m Memory
	if err := a.getJSON(ctx, "/memory", &m); err != nil {
		return Memory{}, err
	}
	return m, nil
}

// ConfigDump reads /config_dump whole. Effective makes what can be compared
// of it.
func (a *Admin) ConfigDump(ctx context.Context) (json.RawMessage, error) {
	body, err := a.get(ctx, "/config_dump")
	if err != nil {
		return nil, err
	}
	if !json.Valid(body) {
		return nil, fmt.Errorf("envoy admin /config_dump: the answer is no JSON")
	}
	return body, nil
}
