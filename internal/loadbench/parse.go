package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// outcome is what a tool says of its own run.
type outcome struct {
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed"`
	// Rate is completed requests per second.
	Rate float64       `json:"rate"`
	P99  time.Duration `json:"p99_ns"` // 0 where the tool knows none
	Max  time.Duration `json:"max_ns"`
}

func (o outcome) tail() string {
	if o.P99 > 0 {
		return "p99 " + short(o.P99)
	}
	return "max " + short(o.Max)
}

// fields reads the submatches of the first match of a pattern: integers,
// fractions and times with a unit of wrk, h2load or Go.
func fields(text, pattern string, into ...any) error {
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("nothing like %s in %.300q", pattern, text)
	}
	for i, p := range into {
		var err error
		switch p := p.(type) {
		case *int64:
			*p, err = strconv.ParseInt(m[i+1], 10, 64)
		case *float64:
			*p, err = strconv.ParseFloat(m[i+1], 64)
		case *time.Duration:
			*p, err = time.ParseDuration(m[i+1])
		}
		if err != nil {
			return fmt.Errorf("%s: %w", pattern, err)
		}
	}
	return nil
}

const duration = `([0-9.]+(?:us|ms|s|m|h))`

func parseWrk(text string) (outcome, error) {
	var o outcome
	if err := fields(text, `(?m)^\s+(\d+) requests in `, &o.Completed); err != nil {
		return o, err
	}
	if err := fields(text, `(?m)^Requests/sec:\s+([0-9.]+)$`, &o.Rate); err != nil {
		return o, err
	}
	if err := fields(text, `(?m)^\s+99%\s+`+duration+`$`, &o.P99); err != nil {
		return o, err
	}
	if strings.Contains(text, "Socket errors:") {
		var a, b, c, d int64
		if err := fields(text, `Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)`, &a, &b, &c, &d); err != nil {
			return o, err
		}
		o.Failed = a + b + c + d
	}
	if strings.Contains(text, "Non-2xx") {
		var bad int64
		if err := fields(text, `Non-2xx or 3xx responses: (\d+)`, &bad); err != nil {
			return o, err
		}
		o.Failed += bad
		o.Completed -= bad
	}
	return o, nil
}

func parseH2load(text string) (outcome, error) {
	var o outcome
	var ok, errored, failed, timeout int64
	if err := fields(text, `(?m)^finished in `+duration+`, ([0-9.]+) req/s`, new(time.Duration), &o.Rate); err != nil {
		return o, err
	}
	if err := fields(text, `(?m)^requests: \d+ total, \d+ started, \d+ done, (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout`, &ok, &failed, &errored, &timeout); err != nil {
		return o, err
	}
	o.Completed = ok
	o.Failed = failed // errored and timed out are part of it
	if o.Failed < errored+timeout {
		return o, fmt.Errorf("%d failed are fewer than %d errored and %d timed out", failed, errored, timeout)
	}
	err := fields(text, `(?m)^time for request:\s+`+duration+`\s+`+duration+`\s`, new(time.Duration), &o.Max)
	return o, err
}

func parseHey(text string) (outcome, error) {
	var o outcome
	if err := fields(text, `(?m)^\s+Requests/sec:\s+([0-9.]+)$`, &o.Rate); err != nil {
		return o, err
	}
	var p99, slowest float64
	if err := fields(text, `(?m)^\s+99% in ([0-9.]+) secs$`, &p99); err != nil {
		return o, err
	}
	if err := fields(text, `(?m)^\s+Slowest:\s+([0-9.]+) secs$`, &slowest); err != nil {
		return o, err
	}
	o.P99, o.Max = time.Duration(p99*1e9), time.Duration(slowest*1e9)
	_, statuses, _ := strings.Cut(text, "Status code distribution:")
	statuses, errors, _ := strings.Cut(statuses, "Error distribution:")
	for _, m := range regexp.MustCompile(`(?m)^\s+\[(\d+)\]\s+(\d+) `).FindAllStringSubmatch(statuses, -1) {
		n, err := strconv.ParseInt(m[2], 10, 64)
		if err != nil {
			return o, fmt.Errorf("hey: %w", err)
		}
		if m[1] == "200" {
			o.Completed += n
		} else {
			o.Failed += n
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^\s+\[(\d+)\]\s`).FindAllStringSubmatch(errors, -1) {
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil {
			return o, fmt.Errorf("hey: %w", err)
		}
		o.Failed += n
	}
	if o.Completed == 0 {
		return o, fmt.Errorf("hey: no answer with status 200 in %.300q", text)
	}
	return o, nil
}

// short writes a time with two or three digits.
func short(d time.Duration) string {
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.2fs", d.Seconds())
	case d >= 10*time.Millisecond:
		return fmt.Sprintf("%.0fms", d.Seconds()*1e3)
	case d >= time.Millisecond:
		return fmt.Sprintf("%.1fms", d.Seconds()*1e3)
	}
	return fmt.Sprintf("%.0fµs", d.Seconds()*1e6)
}
