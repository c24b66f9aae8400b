package abtest

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// spinEnv makes this test binary a spinner: a process of someone else that is
// busy on a CPU.
const spinEnv = "TARE_TEST_SPIN"

func TestMain(m *testing.M) {
	if os.Getenv(spinEnv) != "" {
		spin()
	}
	Main(m)
}

func spin() {
	fmt.Println("spinning")
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
	}
	os.Exit(0)
}
