package smallproxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

// line is what an access log says about a request.
type line struct {
	Time           string  `json:"time"` // of its start, UTC
	Method         string  `json:"method"`
	Path           string  `json:"path"`
	Protocol       string  `json:"protocol"`
	Status         int     `json:"status"`
	Aborted        bool    `json:"aborted"`
	BytesReceived  int64   `json:"bytes_received"` // -1: not declared
	BytesSent      int64   `json:"bytes_sent"`
	DurationMillis float64 `json:"duration_ms"`
	Peer           string  `json:"peer"`
	Agent          string  `json:"user_agent"`
	RequestID      string  `json:"request_id"`
	Host           string  `json:"host"`
	Origin         string  `json:"origin"`
}

const timeForm = "2006-01-02T15:04:05.000Z"

func makeLine(e *exchange, peer, origin string, now time.Time) line {
	return line{
		Time: e.start.UTC().Format(timeForm), Method: e.method, Path: e.uri, Protocol: e.protocol,
		Status: e.status, Aborted: e.aborted, BytesReceived: e.received, BytesSent: e.sent,
		DurationMillis: float64(now.Sub(e.start).Microseconds()) / 1000,
		Peer:           peer, Agent: e.agent, RequestID: e.id, Host: e.host, Origin: origin,
	}
}

// appendText appends l as one line. What a client chose is quoted, so that it can
// neither end the line nor a field.
func appendText(b []byte, l line) []byte {
	b = append(b, '[')
	b = append(b, l.Time...)
	b = append(b, "] "...)
	b = strconv.AppendQuote(b, l.Method+" "+l.Path+" "+l.Protocol)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(l.Status), 10)
	if l.Aborted {
		b = append(b, " aborted "...)
	} else {
		b = append(b, " - "...)
	}
	b = strconv.AppendInt(b, l.BytesReceived, 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, l.BytesSent, 10)
	b = append(b, ' ')
	b = strconv.AppendFloat(b, l.DurationMillis, 'f', 3, 64)
	for _, field := range []string{l.Peer, l.Agent, l.RequestID, l.Host, l.Origin} {
		b = append(b, ' ')
		b = strconv.AppendQuote(b, field)
	}
	return append(b, '\n')
}

// appendJSON appends l as one line of JSON.
func appendJSON(b []byte, l line) []byte {
	out := bytes.NewBuffer(b)
	// Strings and finite numbers encode without error; Encode ends the line.
	_ = json.NewEncoder(out).Encode(l)
	return out.Bytes()
}

// accessLog buffers lines for a file.
type accessLog struct {
	form string

	mu      sync.Mutex
	file    *os.File
	buffer  []byte
	pending uint64 // lines in buffer
	lines   uint64
	written uint64
	lost    uint64
	reason  error // why the first line was lost
	stop    chan struct{}
	stopped sync.WaitGroup
}

// openLog opens the log of c; without one it has only the buffer.
func openLog(c Config) (*accessLog, error) {
	// Room for one line beyond the mark that flushes.
	l := &accessLog{form: c.AccessLog, buffer: make([]byte, 0, 2*logBufferBytes), stop: make(chan struct{})}
	if c.AccessLog == LogOff {
		return l, nil
	}
	file, err := os.OpenFile(c.AccessLogPath, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("proxy: open the access log: %w", err)
	}
	l.file = file
	l.stopped.Add(1)
	go l.flushEach(c.FlushInterval)
	return l, nil
}

func (l *accessLog) flushEach(interval time.Duration) {
	defer l.stopped.Done()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			l.mu.Lock()
			l.flush()
			l.mu.Unlock()
		case <-l.stop:
			return
		}
	}
}

// add appends a line. When the file is slow, the one who fills the buffer waits
// for it: lines are never dropped for speed.
func (l *accessLog) add(made line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.form == LogJSON {
		l.buffer = appendJSON(l.buffer, made)
	} else {
		l.buffer = appendText(l.buffer, made)
	}
	l.lines++
	l.pending++
	if len(l.buffer) >= logBufferBytes {
		l.flush()
	}
}

// flush writes the buffer; the caller holds the lock. Lines that cannot be
// written are counted as lost and not kept: a full disk must not fill the memory.
func (l *accessLog) flush() {
	if l.pending == 0 {
		return
	}
	n, err := l.file.Write(l.buffer)
	if err == nil {
		l.written += l.pending
	} else {
		whole := uint64(bytes.Count(l.buffer[:n], []byte{'\n'}))
		l.written += whole
		l.lost += l.pending - whole
		if l.reason == nil {
			l.reason = err
		}
	}
	l.buffer, l.pending = l.buffer[:0], 0
}

// close writes what is left.
func (l *accessLog) close() error {
	if l.file == nil {
		return nil
	}
	close(l.stop)
	l.stopped.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.flush()
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("proxy: close the access log: %w", err)
	}
	if l.lost > 0 {
		return fmt.Errorf("proxy: %d lines of the access log were lost: %w", l.lost, l.reason)
	}
	return nil
}

func (l *accessLog) fill(s *Stats) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.LogLines, s.LogLinesWritten, s.LogErrors = l.lines, l.written, l.lost
	if l.reason != nil {
		s.LogError = l.reason.Error()
	}
}
