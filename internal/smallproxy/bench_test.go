package smallproxy

import (
	"testing"
	"time"
)

// BenchmarkLine is what formatting a line costs in the best of cases, caches warm.
func BenchmarkLine(b *testing.B) {
	e := &exchange{start: time.Now(), method: "GET", uri: "/4k?session=abc", protocol: "HTTP/1.1", host: "tare.example", agent: "tare/0.1", id: "5d1f6d5e", status: 200, sent: 4096}
	for _, form := range []string{LogText, LogJSON} {
		b.Run(form, func(b *testing.B) {
			buffer := make([]byte, 0, 4096)
			b.ReportAllocs()
			for b.Loop() {
				made := makeLine(e, "127.0.0.1:40000", "127.0.0.1:8080", time.Now())
				if form == LogJSON {
					buffer = appendJSON(buffer[:0], made)
				} else {
					buffer = appendText(buffer[:0], made)
				}
			}
		})
	}
}
