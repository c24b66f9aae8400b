// Package need decides what a test does when something it needs is absent:
// skip with the probed reason, or fail when TARE_REQUIRE names it, so that a
// skip cannot hide breakage on a machine that is known to have the thing.
package need

import (
	"os"
	"strings"
	"testing"
)

// Skip does nothing when err is nil. Otherwise it skips t with err as the
// reason, or fails t when the comma-separated TARE_REQUIRE lists what.
func Skip(t testing.TB, what string, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if Required(what) {
		t.Fatalf("%s is required by TARE_REQUIRE and is not here: %v", what, err)
	}
	t.Skipf("needs %s: %v", what, err)
}

// Required reports whether TARE_REQUIRE lists what.
func Required(what string) bool {
	for _, name := range strings.Split(os.Getenv("TARE_REQUIRE"), ",") {
		if strings.TrimSpace(name) == what {
			return true
		}
	}
	return false
}
