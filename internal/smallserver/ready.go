package smallserver

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Ready is the one line that a server writes to its standard output.
type Ready struct {
	// Server is the kind of server, "smallproxy" or "smallorigin".
	Server string `json:"server"`
	// Pid is the process id of the server.
	Pid int `json:"pid"`
	// Address is the host:port that serves; AdminAddress that of /stats and /config.
	Address      string `json:"address,omitempty"`
	AdminAddress string `json:"admin_address,omitempty"`
	// Error is why the server could not start; then there is no address.
	Error string `json:"error,omitempty"`
}

// StartError is the reason a server gave for not starting.
type StartError struct {
	Server string
	Reason string
}

func (e *StartError) Error() string {
	return fmt.Sprintf("%s did not start: %s", e.Server, e.Reason)
}

// maxReady bounds the ready line, in bytes.
const maxReady = 16 << 10

// WriteReady writes r as one line.
func WriteReady(w io.Writer, r Ready) error {
	r.Pid = os.Getpid()
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode the ready line: %w", err)
	}
	if _, err := w.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write the ready line: %w", err)
	}
	return nil
}

// ReadReady reads the one line of r, in the parent. It returns a *StartError
// when the server says that it could not start, and another error when the
// output ended without a line (the server died; its standard error says why) or
// the line is not what a server of this kind writes. It blocks until there is a
// line or the end: the caller bounds it by stopping the process.
func ReadReady(r io.Reader, server string) (Ready, error) {
	line, err := bufio.NewReader(io.LimitReader(r, maxReady)).ReadBytes('\n')
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return Ready{}, fmt.Errorf("%s ended before it was ready (got %q), see its standard error: %w", server, cut(line), err)
	}
	var ready Ready
	if err := json.Unmarshal(line, &ready); err != nil {
		return Ready{}, fmt.Errorf("ready line %q of %s is not JSON: %w", cut(line), server, err)
	}
	if ready.Server != server {
		return Ready{}, fmt.Errorf("ready line %q is not of %s; is abtest.Main called in TestMain?", cut(line), server)
	}
	if ready.Error != "" {
		return ready, &StartError{Server: server, Reason: ready.Error}
	}
	if ready.Address == "" || ready.AdminAddress == "" || ready.Pid <= 0 {
		return Ready{}, fmt.Errorf("ready line %q of %s lacks an address or the pid", cut(line), server)
	}
	return ready, nil
}

func cut(line []byte) []byte {
	if len(line) > 200 {
		return line[:200]
	}
	return line
}
