package arrivals

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ErrNotSupported is wrapped by the answer of Serve on systems other than
// Linux.
var ErrNotSupported = errors.New("recording arrivals is not supported on this system")

// Options are how the server answers. The zero value answers with an empty
// body.
type Options struct {
	// BodySize is the size of each answer's body, in bytes, 0 to MaxBodySize.
	BodySize int
}

// MaxBodySize is the largest body, in bytes: one that a socket takes whole.
const MaxBodySize = 64 << 10

// What says what a recording holds.
type What string

const (
	// Times records the time of each arrival too.
	Times What = "times"
	// Counts records counts only, and spares the server the times: for a
	// generator that saturates it.
	Counts What = "counts"
)

// Recording is what arrived between Start and Take.
type Recording struct {
	// Times are the arrivals in the order of reading, in nanoseconds since the
	// first of them that was read. Nil unless they were asked for.
	Times []int64 `json:"times_ns,omitempty"`
	// Requests is how many arrived, Wakes how often the server found some after
	// it had waited.
	Requests int64 `json:"requests"`
	Wakes    int64 `json:"wakes"`
	// Connections is how many were accepted.
	Connections int64 `json:"connections"`
	// Refused is connections that were closed because the client did not read
	// its answers, or because they could not be served.
	Refused int64 `json:"refused"`
	// Error is why there is no recording.
	Error string `json:"error,omitempty"`
}

// ready is the first line that a server writes.
type ready struct {
	Address string `json:"address"`
	Error   string `json:"error,omitempty"`
}

const commandTake = "take"

// Remote drives a server in another process, which runs Serve. Its methods are
// not for several goroutines at once. They block for as long as the other
// process does: to bound them, end it.
type Remote struct {
	in      io.Writer
	out     *bufio.Reader
	address string
}

// NewRemote waits until the Serve whose standard input and output in and out
// lead to listens.
func NewRemote(in io.Writer, out io.Reader) (*Remote, error) {
	r := &Remote{in: in, out: bufio.NewReader(out)}
	var first ready
	if err := r.read(&first); err != nil {
		return nil, err
	}
	if first.Error != "" || first.Address == "" {
		return nil, fmt.Errorf("arrivals: recording server did not start: %s", first.Error)
	}
	r.address = first.Address
	return r, nil
}

// Address is where the server listens, host:port.
func (r *Remote) Address() string { return r.address }

// Start begins a new recording. What was recorded and not taken is dropped.
func (r *Remote) Start(w What) error {
	_, err := r.ask(string(w))
	return err
}

// Take ends the recording and returns it.
func (r *Remote) Take() (Recording, error) { return r.ask(commandTake) }

func (r *Remote) ask(command string) (Recording, error) {
	if _, err := io.WriteString(r.in, command+"\n"); err != nil {
		return Recording{}, fmt.Errorf("arrivals: the recording server has ended, see its standard error: %w", err)
	}
	var got Recording
	if err := r.read(&got); err != nil {
		return Recording{}, err
	}
	if got.Error != "" {
		return got, fmt.Errorf("arrivals: %s: %s", command, got.Error)
	}
	return got, nil
}

func (r *Remote) read(into any) error {
	line, err := r.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("arrivals: the recording server has ended, see its standard error: %w", err)
	}
	if err := json.Unmarshal(line, into); err != nil {
		return fmt.Errorf("arrivals: answer %.100q of the recording server: %w", line, err)
	}
	return nil
}
