package h3

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	"github.com/tareperf/tare/loadgen"
)

// ask sends one request and judges its answer.
func (run *window) ask(t *target, c *conn, client *http3.ClientConn, intended time.Time, k int) {
	ctx, cancel := context.WithTimeout(run.ctx, run.spec.Timeout)
	defer cancel()
	started := time.Now()
	status, bytes, err := exchange(client, t, ctx)
	ended := time.Now()
	run.mu.Lock()
	defer run.mu.Unlock()
	if c.client == client {
		c.active--
	}
	if err == nil {
		c.answers++
	}
	record(run.phase[k].lateness, int64(started.Sub(intended)))
	if run.over { // it was in flight at the end
		return
	}
	t.active[k]--
	run.phase[k].inFlight--
	counts := &t.counts[k]
	var class *int64
	switch {
	case err != nil:
		class = failure(counts, err, ctx)
	case status != run.spec.Expect.Status:
		class = &counts.FailedBy.Status
	case run.spec.Expect.BodyBytes != 0 && bytes != run.spec.Expect.BodyBytes && run.spec.Method != http.MethodHead:
		class = &counts.FailedBy.Body
	}
	if class != nil {
		*class++
		counts.Failed++
		return
	}
	counts.Completed++
	counts.BodyBytes += bytes
	if k == 1 {
		record(t.response, int64(ended.Sub(intended)))
		record(t.service, int64(ended.Sub(started)))
	}
}

func exchange(client *http3.ClientConn, t *target, ctx context.Context) (status int, bytes int64, err error) {
	r := t.request.Clone(ctx)
	if t.body != "" {
		r.Body = io.NopCloser(strings.NewReader(t.body))
	}
	answer, err := client.RoundTrip(r)
	if err != nil {
		return 0, 0, err
	}
	defer answer.Body.Close()
	bytes, err = io.Copy(io.Discard, answer.Body)
	if err == nil && answer.ContentLength >= 0 && bytes != answer.ContentLength && t.request.Method != http.MethodHead {
		err = io.ErrUnexpectedEOF
	}
	return answer.StatusCode, bytes, err
}

// failure finds the class of an error.
func failure(counts *loadgen.Counts, err error, ctx context.Context) *int64 {
	var h *http3.Error
	var stream *quic.StreamError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &counts.FailedBy.Timeout
	case errors.As(err, &h) && h.Remote && h.ErrorCode == http3.ErrCodeRequestRejected:
		counts.StreamsRefused++
		return &counts.FailedBy.Lost
	case errors.As(err, &stream):
		if stream.Remote {
			counts.Resets++
			return &counts.FailedBy.Reset
		}
		return &counts.FailedBy.Framing // this side gave the stream up for what was on it
	case isClosed(err):
		return &counts.FailedBy.Closed
	}
	return &counts.FailedBy.Framing
}

// isClosed tells whether the connection has ended.
func isClosed(err error) bool {
	var application *quic.ApplicationError
	var transport *quic.TransportError
	var idle *quic.IdleTimeoutError
	var reset *quic.StatelessResetError
	return errors.As(err, &application) || errors.As(err, &transport) || errors.As(err, &idle) || errors.As(err, &reset)
}
