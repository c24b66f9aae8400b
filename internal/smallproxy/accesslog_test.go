package smallproxy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var sample = exchange{
	start: time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC), method: "GET", uri: "/4k", protocol: "HTTP/1.1",
	host: "tare.example", agent: "tare", id: "7", status: 200, sent: 4096,
}

func TestLines(t *testing.T) {
	l := makeLine(&sample, "127.0.0.1:40000", "127.0.0.1:8080", sample.start.Add(1500*time.Microsecond))
	assert.Equal(t, `[2026-01-02T03:04:05.678Z] "GET /4k HTTP/1.1" 200 - 0 4096 1.500 "127.0.0.1:40000" "tare" "7" "tare.example" "127.0.0.1:8080"`+"\n",
		string(appendText(nil, l)))
	assert.Equal(t, `{"time":"2026-01-02T03:04:05.678Z","method":"GET","path":"/4k","protocol":"HTTP/1.1","status":200,"aborted":false,"bytes_received":0,"bytes_sent":4096,"duration_ms":1.5,"peer":"127.0.0.1:40000","user_agent":"tare","request_id":"7","host":"tare.example","origin":"127.0.0.1:8080"}`+"\n",
		string(appendJSON(nil, l)))
}

// FuzzLines: whatever a client sends, a line stays one line and its form.
func FuzzLines(f *testing.F) {
	f.Add("/4k", "tare", true)
	f.Add("/\"\n{}", "\xff\x00\\\u2028", false)
	f.Fuzz(func(t *testing.T, uri, agent string, aborted bool) {
		e := sample
		e.uri, e.agent, e.aborted = uri, agent, aborted
		l := makeLine(&e, "p", "o", e.start)
		text := string(appendText([]byte("x"), l))
		if strings.IndexByte(text, '\n') != len(text)-1 || text[0] != 'x' {
			t.Fatalf("text: %q", text)
		}
		raw := appendJSON([]byte("x"), l)
		var back line
		if strings.IndexByte(string(raw), '\n') != len(raw)-1 || json.Unmarshal(raw[1:], &back) != nil {
			t.Fatalf("JSON: %q", raw)
		}
		if want := strings.ToValidUTF8(uri, ""); strings.ToValidUTF8(uri, "\ufffd") == want && back.Path != uri {
			t.Fatalf("path %q came back as %q", uri, back.Path)
		}
	})
}

func TestLogIsFlushedByTimeAndBySize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l, err := openLog(Config{AccessLog: LogText, AccessLogPath: path, FlushInterval: time.Hour})
	require.NoError(t, err)
	made := makeLine(&sample, "p", "o", sample.start)
	size := func() int64 {
		info, err := os.Stat(path)
		require.NoError(t, err)
		return info.Size()
	}
	length := int64(len(appendText(nil, made)))
	for range logBufferBytes/length - 1 {
		l.add(made)
	}
	assert.Zero(t, size())
	l.add(made)
	l.add(made)
	assert.GreaterOrEqual(t, size(), int64(logBufferBytes)-length)
	require.NoError(t, l.close())
	assert.Equal(t, int64(l.lines)*length, size())

	l, err = openLog(Config{AccessLog: LogText, AccessLogPath: path, FlushInterval: 5 * time.Millisecond})
	require.NoError(t, err)
	before := size()
	l.add(made)
	require.Eventually(t, func() bool { return size() == before+length }, 5*time.Second, time.Millisecond)
	require.NoError(t, l.close())
}

func TestLogLinesAddUpUnderConcurrency(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l, err := openLog(Config{AccessLog: LogJSON, AccessLogPath: path, FlushInterval: time.Millisecond})
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 500 {
				l.add(makeLine(&sample, "p", "o", sample.start))
			}
		}()
	}
	wg.Wait()
	require.NoError(t, l.close())
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
	assert.Len(t, lines, 4000)
	for _, one := range lines {
		require.True(t, json.Valid([]byte(one)))
	}
	var s Stats
	l.fill(&s)
	assert.EqualValues(t, 4000, s.LogLines)
	assert.EqualValues(t, 4000, s.LogLinesWritten)
	assert.Zero(t, s.LogErrors)
}

func TestFullDiskIsCountedAndTold(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip(err)
	}
	l, err := openLog(Config{AccessLog: LogText, AccessLogPath: "/dev/full", FlushInterval: time.Hour})
	require.NoError(t, err)
	for range 10 {
		l.add(makeLine(&sample, "p", "o", sample.start))
	}
	err = l.close()
	assert.ErrorContains(t, err, "10 lines")
	assert.ErrorContains(t, err, "no space left")
	var s Stats
	l.fill(&s)
	assert.EqualValues(t, 10, s.LogErrors)
	assert.EqualValues(t, 10, s.LogLines)
	assert.Zero(t, s.LogLinesWritten)
	assert.Contains(t, s.LogError, "no space left")
}
