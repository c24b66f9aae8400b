package smallproxy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/tareperf/tare/internal/smallproxy"
)

// The test binary is the proxy when this holds a configuration.
const asProxy = "TARE_TEST_AS_PROXY"

func TestMain(m *testing.M) {
	raw := os.Getenv(asProxy)
	if raw == "" {
		os.Exit(m.Run())
	}
	var c smallproxy.Config
	err := json.Unmarshal([]byte(raw), &c)
	if err == nil {
		err = smallproxy.Main(context.Background(), c, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
