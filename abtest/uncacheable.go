package abtest

import (
	"flag"
	"os"
)

// uncacheableOffset is beyond any list of the files and variables that a test
// reads.
const uncacheableOffset = 1 << 20

// uncacheable keeps go test from caching this test binary's result. Go test
// has a package's tests write down what they read, and caches a result only if
// it understands that list whole; this adds a line that it does not. (Passing
// -count=1 does the same, and documented commands carry it; but a measurement
// must not be replayed because somebody forgot.)
//
// Without a list (-count given, or the binary run by hand) nothing is cached
// and there is nothing to do. Failing to write means the result may be
// replayed, which the record's time in the printed row would show; it is not
// worth failing a measurement for.
func uncacheable() {
	f := flag.Lookup("test.testlogfile")
	if f == nil || f.Value.String() == "" {
		return
	}
	log, err := os.OpenFile(f.Value.String(), os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer log.Close()
	// The list is written from its start as the test runs; far behind it
	// this line stays.
	log.WriteAt([]byte("\na-measurement-is-not-cacheable\n"), uncacheableOffset)
}
