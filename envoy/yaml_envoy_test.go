//go:build linux

package envoy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tareperf/tare/envoy"
)

// What Parse makes of plain YAML values is what Envoy itself makes of them:
// a free-form field of its own configuration is read back from its dump.
func TestScalarsAsEnvoyReadsThem(t *testing.T) {
	bin := find(t, "1.40.0")
	values := []string{
		`5`, `-5`, `+5`, `0x1F`, `017`, `08`, `-017`, `2147483647`, `2147483648`, `-2147483649`, `9223372036854775808`,
		`1_000`, `0o17`, `0b11`, `0.5`, `1.0`, `1e3`, `.5`, `.inf`, `-0`, `0x`, `0xG`, `'5'`, `"true"`, `""`, `''`,
		`true`, `True`, `TRUE`, `tRue`, `yes`, `Yes`, `YES`, `yEs`, `on`, `y`, `Y`, `no`, `Off`, `n`, `N`, `null`, `~`, `Null`, `nULL`,
		`2001-01-01`, `12:30:45`, `15s`, `plain words`, `[1, a, "2"]`, `{a: 1, b: {}}`, `{a: 1, a: 2}`, `!!str 5`, `*anchored`,
		`"a\tb\u00e4"`, "|\n      block\n      5", ">-\n      folded\n      6",
	}
	var b strings.Builder
	b.WriteString("admin: {address: {socket_address: {address: 127.0.0.1, port_value: 0}}}\nnode:\n  id: x\n  cluster: x\n  metadata:\n    anchor: &anchored {p: 1}\n")
	for i, v := range values {
		fmt.Fprintf(&b, "    v%02d: %s\n", i, v)
	}
	b.WriteString("---\nadmin: {}\n")

	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "raw.yaml"), []byte(b.String()), 0o600))
	cmd := exec.Command(bin.Path, "-c", "raw.yaml", "--disable-hot-restart", "--concurrency", "1", "--admin-address-path", "admin.txt", "--log-level", "error")
	cmd.Dir = dir
	var log bytes.Buffer
	cmd.Stderr = &log
	require.NoError(t, cmd.Start())
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	var address []byte
	require.Eventually(t, func() bool {
		var err error
		address, err = os.ReadFile(filepath.Join(dir, "admin.txt"))
		return err == nil && envoy.NewAdmin(string(address)).Ready(context.Background()) == nil
	}, 15*time.Second, 20*time.Millisecond, "Envoy refuses the text: %s", &log)
	dump, err := envoy.NewAdmin(string(address)).ConfigDump(context.Background())
	require.NoError(t, err)
	var envoys struct {
		Configs []struct {
			Bootstrap struct {
				Node struct {
					Metadata map[string]any `json:"metadata"`
				} `json:"node"`
			} `json:"bootstrap"`
		} `json:"configs"`
	}
	require.NoError(t, json.Unmarshal(dump, &envoys))

	parsed, err := envoy.Parse(b.String())
	require.NoError(t, err)
	text, err := parsed.JSON()
	require.NoError(t, err)
	var ours struct {
		Node struct {
			Metadata map[string]any `json:"metadata"`
		} `json:"node"`
	}
	require.NoError(t, json.Unmarshal(text, &ours))
	for i, v := range values {
		name := fmt.Sprintf("v%02d", i)
		require.Equal(t, envoys.Configs[0].Bootstrap.Node.Metadata[name], ours.Node.Metadata[name], "%s read by Envoy and by Parse", v)
	}
}
