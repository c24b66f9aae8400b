package abtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"
)

// RecordError is a record that could not be written or read.
type RecordError struct {
	Path string
	Line int // 0 if the error is not about one line
	Err  error
}

func (e *RecordError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("record %s, line %d: %v", e.Path, e.Line, e.Err)
	}
	return fmt.Sprintf("record %s: %v", e.Path, e.Err)
}

func (e *RecordError) Unwrap() error { return e.Err }

// recordFile appends whole lines to a record.
type recordFile struct {
	path string
	file *os.File
	size int64 // bytes of whole lines
}

func newRecordFile(dir, name string, now time.Time) (*recordFile, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, &RecordError{Path: dir, Err: fmt.Errorf("%w; choose another directory with RecordDir or TARE_RECORD_DIR", err)}
	}
	stem := filepath.Join(dir, fileStem(name)+"-"+now.UTC().Format("20060102T150405.000Z"))
	f, err := os.OpenFile(stem+".jsonl", os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
	if err != nil {
		return nil, &RecordError{Path: stem + ".jsonl", Err: fmt.Errorf("%w; choose another directory with RecordDir or TARE_RECORD_DIR", err)}
	}
	return &recordFile{path: f.Name(), file: f}, nil
}

// openRecordFile continues r: whatever follows its last whole line is cut off.
func openRecordFile(r Record) (*recordFile, error) {
	f, err := os.OpenFile(r.Path, os.O_RDWR, 0)
	if err == nil {
		err = f.Truncate(r.size)
	}
	if err != nil {
		return nil, &RecordError{Path: r.Path, Err: err}
	}
	return &recordFile{path: r.Path, file: f, size: r.size}, nil
}

// append writes one line and waits until it is on the disk. If that fails,
// the file is cut back to its whole lines and the line is lost.
func (r *recordFile) append(l Line) error {
	l.V = SchemaVersion
	l.Time = time.Now().UTC()
	text, err := json.Marshal(l)
	if err != nil {
		return &RecordError{Path: r.path, Err: err}
	}
	text = append(text, '\n')
	_, err = r.file.WriteAt(text, r.size)
	if err == nil {
		err = r.file.Sync()
	}
	if err != nil {
		err = errors.Join(err, r.file.Truncate(r.size))
		return &RecordError{Path: r.path, Err: fmt.Errorf("the %s is lost, earlier lines are whole: %w; make room or choose another RecordDir, then run again to resume", l.Kind, err)}
	}
	r.size += int64(len(text))
	return nil
}

func (r *recordFile) close() error { return r.file.Close() }

// ReadRecord reads a record. A last line that is not whole is ignored and
// reported by Torn; any other line that is not as [Line] says is an error
// that names it.
func ReadRecord(path string) (Record, error) {
	f, err := os.Open(path)
	if err != nil {
		return Record{}, &RecordError{Path: path, Err: err}
	}
	defer f.Close()
	r, err := parseRecord(f)
	r.Path = path
	var re *RecordError
	if errors.As(err, &re) {
		re.Path = path
	}
	return r, err
}

func parseRecord(in io.Reader) (Record, error) {
	var r Record
	b := bufio.NewReader(in)
	kept := map[int]bool{}
	for n := 1; ; n++ {
		text, err := b.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			r.Torn = len(text) > 0
			if n == 1 {
				return r, &RecordError{Line: 1, Err: errors.New("no whole line; the session was ended before it began")}
			}
			return r, nil
		}
		if err != nil {
			return r, &RecordError{Line: n, Err: err}
		}
		var l Line
		d := json.NewDecoder(bytes.NewReader(text))
		if err := d.Decode(&l); err != nil {
			return r, &RecordError{Line: n, Err: fmt.Errorf("not a record line: %w", err)}
		}
		if l.V != SchemaVersion {
			return r, &RecordError{Line: n, Err: fmt.Errorf("schema version %d, this program knows %d", l.V, SchemaVersion)}
		}
		if (n == 1) != (l.Kind == "session") {
			return r, &RecordError{Line: n, Err: fmt.Errorf("a %q line; the session line comes first and once", l.Kind)}
		}
		if r.End != nil {
			return r, &RecordError{Line: n, Err: fmt.Errorf("a %q line after the end line", l.Kind)}
		}
		if err := r.add(l, kept); err != nil {
			return r, &RecordError{Line: n, Err: err}
		}
		r.size += int64(len(text))
		r.Last = l.Time
	}
}

func (r *Record) add(l Line, kept map[int]bool) error {
	switch {
	case l.Kind == "session" && l.Session != nil:
		r.Session = *l.Session
	case l.Kind == "pilot" && l.Pilot != nil:
		r.Pilot = l.Pilot
	case l.Kind == "block" && l.Block != nil:
		r.Blocks = append(r.Blocks, *l.Block)
	case l.Kind == "round" && l.Round != nil:
		if l.Round.Kept {
			if kept[l.Round.Index] {
				return fmt.Errorf("round %d is kept twice", l.Round.Index)
			}
			kept[l.Round.Index] = true
		}
		r.Rounds = append(r.Rounds, *l.Round)
	case l.Kind == "note" && l.Note != nil:
		r.Notes = append(r.Notes, *l.Note)
	case l.Kind == "end" && l.End != nil:
		r.End = l.End
	default:
		return fmt.Errorf("kind %q without its part, or unknown", l.Kind)
	}
	return nil
}

// Kept returns the rounds that count, by index.
func (r Record) Kept() []RoundRecord {
	var kept []RoundRecord
	for _, round := range r.Rounds {
		if round.Kept {
			kept = append(kept, round)
		}
	}
	sort.SliceStable(kept, func(i, j int) bool { return kept[i].Index < kept[j].Index })
	return kept
}

// recordsOf lists the records of an experiment's name in dir, oldest first, and
// the files of that name which cannot be read.
func recordsOf(dir, name string) (records []Record, unreadable []string) {
	entries, err := os.ReadDir(dir) // sorted by name, and so by time
	if err != nil {
		return nil, []string{dir}
	}
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), fileStem(name)+"-") || !strings.HasSuffix(entry.Name(), ".jsonl") {
			continue
		}
		r, err := ReadRecord(filepath.Join(dir, entry.Name()))
		switch {
		case err != nil:
			unreadable = append(unreadable, entry.Name())
		case r.Session.Name == name:
			records = append(records, r)
		}
	}
	return records, unreadable
}

// fileStem turns an experiment's name into a file name.
func fileStem(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_':
			return c
		}
		return '_'
	}, name)
}
