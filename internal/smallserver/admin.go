package smallserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"
)

// Admin answers /stats and /config of one server.
type Admin struct {
	listener net.Listener
	server   *http.Server
}

// envelope is the form of every admin answer.
type envelope struct {
	Server string          `json:"server"`
	Pid    int             `json:"pid"`
	Body   json.RawMessage `json:"body"`
}

// ServeAdmin listens on address (host:port, port 0 for any) and answers until
// Close. stats is called for each GET /stats; config is what GET /config says.
func ServeAdmin(address, server string, stats func() any, config any) (*Admin, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for admin requests of %s: %w", server, err)
	}
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, body any) {
		raw, err := json.Marshal(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		// A failed write shows at the reader, as a cut answer.
		_ = json.NewEncoder(w).Encode(envelope{Server: server, Pid: os.Getpid(), Body: raw})
	}
	mux.HandleFunc("GET /stats", func(w http.ResponseWriter, _ *http.Request) { answer(w, stats()) })
	mux.HandleFunc("GET /config", func(w http.ResponseWriter, _ *http.Request) { answer(w, config) })
	a := &Admin{listener: listener, server: &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(os.Stderr, server+" admin: ", 0),
	}}
	// One connection per question: no idle admin connection outlives it, and
	// none has to be awaited at the end.
	a.server.SetKeepAlivesEnabled(false)
	go func() {
		if err := a.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintf(os.Stderr, "%s admin: %v\n", server, err)
		}
	}()
	return a, nil
}

// Address is the host:port of the admin.
func (a *Admin) Address() string { return a.listener.Addr().String() }

// Close ends the admin at once.
func (a *Admin) Close() error { return a.server.Close() }

// IdentityError says that an admin address is answered by another process than
// the one that was asked.
type IdentityError struct {
	Address               string
	WantServer, GotServer string
	WantPid, GotPid       int
}

func (e *IdentityError) Error() string {
	return fmt.Sprintf("admin %s is %q with pid %d, not %q with pid %d: that server has ended, start it again",
		e.Address, e.GotServer, e.GotPid, e.WantServer, e.WantPid)
}

// maxAnswer bounds an admin answer, in bytes.
const maxAnswer = 1 << 20

// Get asks the admin of the server that reported ready for path ("/stats" or
// "/config") and decodes the answer into body. An answer of another process, one
// with unknown fields or one that is cut is an error.
func Get(ctx context.Context, ready Ready, path string, body any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+ready.AdminAddress+path, nil)
	if err != nil {
		return fmt.Errorf("ask %s for %s: %w", ready.Server, path, err)
	}
	request.Close = true
	// The proxy settings of the environment must not send this elsewhere.
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("ask %s (pid %d) for %s: %w", ready.Server, ready.Pid, path, err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("read %s of %s at %s: %w", path, ready.Server, ready.AdminAddress, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s of %s at %s answered %s: %q", path, ready.Server, ready.AdminAddress, response.Status, cut(raw))
	}
	var e envelope
	if err := json.Unmarshal(raw, &e); err != nil {
		return fmt.Errorf("%s of %s at %s is not JSON: %w", path, ready.Server, ready.AdminAddress, err)
	}
	if e.Server != ready.Server || e.Pid != ready.Pid {
		return &IdentityError{Address: ready.AdminAddress,
			WantServer: ready.Server, GotServer: e.Server, WantPid: ready.Pid, GotPid: e.Pid}
	}
	decoder := json.NewDecoder(bytes.NewReader(e.Body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(body); err != nil {
		return fmt.Errorf("%s of %s at %s: %w", path, ready.Server, ready.AdminAddress, err)
	}
	return nil
}
