package nginx

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const build = "nginx version: nginx/1.22.1\nbuilt with OpenSSL 3.0.22 25 Aug 2026\nconfigure arguments: --prefix=/usr --with-http_stub_status_module --with-threads\n"

func TestParseBuild(t *testing.T) {
	version, number, err := parseBuild(build)
	require.NoError(t, err)
	assert.Equal(t, "1.22.1", version)
	assert.True(t, Binary{number: number}.atLeast(1, 19, 10))
	assert.True(t, Binary{number: number}.atLeast(1, 22, 1))
	assert.False(t, Binary{number: number}.atLeast(1, 22, 2))
	assert.False(t, Binary{number: number}.atLeast(1, 100, 0))

	version, _, err = parseBuild("nginx version: openresty/1.27.1.2 (x)\nconfigure arguments: --with-http_stub_status_module\n")
	require.NoError(t, err)
	assert.Equal(t, "1.27.1", version)
	_, _, err = parseBuild("nginx version: nginx/1.22.1\nconfigure arguments:\n")
	assert.ErrorContains(t, err, "stub_status")
	_, _, err = parseBuild("GNU coreutils\n")
	assert.ErrorContains(t, err, "is it nginx")
}

const status = "Active connections: 2 \nserver accepts handled requests\n 13 12 70 \nReading: 0 Writing: 1 Waiting: 1 \n"

func TestParseStatus(t *testing.T) {
	s, err := parseStatus([]byte(status))
	require.NoError(t, err)
	assert.Equal(t, Stats{Active: 2, Accepts: 13, Handled: 12, Requests: 70, Writing: 1, Waiting: 1}, s)
	for _, bad := range []string{"", "<html>", status + "more\n", "Active connections: x \nserver accepts handled requests\n 1 1 1 \nReading: 0 Writing: 1 Waiting: 1 \n",
		"Active connections: 2 \nserver accepts handled requests request_time\n 1 1 1 5 \nReading: 0 Writing: 1 Waiting: 1 \n",
		"Active connections: 2 \nserver accepts handled requests\n 1 1 \nReading: 0 Writing: 1 Waiting: 1 \n",
		"Active connections: 2 \nserver accepts handled requests\n 1 1 -1 \nReading: 0 Writing: 1 Waiting: 1 \n"} {
		_, err := parseStatus([]byte(bad))
		assert.Error(t, err, "%q", bad)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(status)
	f.Add(build)
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := parseStatus([]byte(text)); err != nil && s != (Stats{}) {
			t.Fatalf("value with error %v", err)
		}
		if version, number, err := parseBuild(text); err == nil && (version == "" || number[0] < 0) {
			t.Fatalf("%q gave version %q %v", text, version, number)
		}
	})
}

func TestSince(t *testing.T) {
	was := Stats{Accepts: 10, Handled: 10, Requests: 100, Active: 8}
	now := Stats{Accepts: 12, Handled: 12, Requests: 250, Active: 7}
	d, err := now.Since(was)
	require.NoError(t, err)
	assert.Equal(t, Delta{Accepts: 2, Handled: 2, Requests: 150, Closed: 3}, d)
	_, err = was.Since(now)
	assert.ErrorContains(t, err, "went back")
	now.Uncertain = 2
	_, err = now.Since(was)
	var uncertain *UncertainError
	require.ErrorAs(t, err, &uncertain)
	assert.EqualValues(t, 2, uncertain.Questions)
}

func TestFindSaysWhereItLooked(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	t.Setenv(EnvBinary, filepath.Join(dir, "absent"))
	_, err := Find(t.Context())
	assert.ErrorContains(t, err, EnvBinary, "what is named is taken or refused")
	var missing *NotFoundError
	assert.False(t, errors.As(err, &missing))

	missing = &NotFoundError{Looked: []string{"/usr/sbin/nginx: nothing there"}}
	assert.ErrorContains(t, missing, "/usr/sbin/nginx")
	assert.ErrorContains(t, missing, "apt-get install")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	t.Setenv(EnvBinary, "")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "nginx"), []byte("#!/bin/sh\n"), 0o755))
	_, err = Find(ctx)
	assert.Error(t, err)
}

func TestBadOptionsAreNamed(t *testing.T) {
	for _, o := range []Options{{BodySize: -1}, {BodySize: MaxBodySize + 1}, {Connections: 3}, {Connections: -1}} {
		_, err := o.withDefaults()
		assert.ErrorContains(t, err, "nginx: ")
	}
	for _, dir := range []string{"relative", "/tmp/a;b", "/tmp/a$b", "/tmp/a\"b", "/tmp/{", "/tmp/a\nb", `/tmp/a\`} {
		_, err := render(Binary{}, dir, "127.0.0.1:1", "127.0.0.1:2", Options{})
		var unsafe *UnsafePathError
		assert.ErrorAs(t, err, &unsafe)
	}
}
