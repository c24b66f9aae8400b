package smallorigin_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/tareperf/tare/internal/smallorigin"
)

// The test binary is the origin when this is set.
const asOrigin = "TARE_TEST_AS_ORIGIN"

func TestMain(m *testing.M) {
	if os.Getenv(asOrigin) == "" {
		os.Exit(m.Run())
	}
	if err := smallorigin.Main(context.Background(), smallorigin.Config{BodySize: 4096}, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
