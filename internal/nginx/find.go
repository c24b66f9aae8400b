package nginx

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tareperf/tare/internal/child"
)

// EnvBinary names the environment variable that points to nginx.
const EnvBinary = "TARE_NGINX"

// identifyTimeout bounds `nginx -V`.
const identifyTimeout = 10 * time.Second

// Binary is an nginx executable that can be the origin.
type Binary struct {
	// Path is absolute.
	Path string `json:"path"`
	// Version is like "1.22.1".
	Version string `json:"version"`
	// FoundBy is the place: "TARE_NGINX", "PATH" or "usual place".
	FoundBy string `json:"found_by"`

	number [3]int
}

// atLeast compares the version.
func (b Binary) atLeast(major, minor, patch int) bool {
	for i, want := range [3]int{major, minor, patch} {
		if b.number[i] != want {
			return b.number[i] > want
		}
	}
	return true
}

// NotFoundError says that there is no nginx and where it was looked for.
type NotFoundError struct {
	// Looked are the places, each with what was wrong with it.
	Looked []string
}

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("no nginx found; looked at %s; install it (Debian: apt-get install nginx-light), or set %s to the executable, or use the embedded origin",
		strings.Join(e.Looked, "; "), EnvBinary)
}

// Find finds and identifies nginx. A path in TARE_NGINX is taken or refused, never
// passed over. Otherwise the first of PATH, /usr/sbin, /usr/local/sbin and
// /usr/local/nginx/sbin that can answer for its status counts. If there is none,
// the error is a *NotFoundError; what is there and cannot be asked is listed in it.
func Find(ctx context.Context) (Binary, error) {
	if named := os.Getenv(EnvBinary); named != "" {
		b, err := Identify(ctx, named)
		if err != nil {
			return Binary{}, fmt.Errorf("nginx by %s: %w", EnvBinary, err)
		}
		b.FoundBy = EnvBinary
		return b, nil
	}
	missing := &NotFoundError{Looked: []string{"$" + EnvBinary + ": not set"}}
	for _, p := range places() {
		if _, err := os.Stat(p.path); err != nil {
			missing.Looked = append(missing.Looked, p.path+": nothing there")
			continue
		}
		b, err := Identify(ctx, p.path)
		if err == nil {
			b.FoundBy = p.by
			return b, nil
		}
		if errors.Is(err, child.ErrNotSupported) || ctx.Err() != nil {
			return Binary{}, fmt.Errorf("find nginx: %w", err)
		}
		missing.Looked = append(missing.Looked, fmt.Sprintf("%s: %v", p.path, err))
	}
	return Binary{}, missing
}

type place struct{ by, path string }

func places() []place {
	var all []place
	seen := map[string]bool{}
	add := func(by, dir string) {
		path := filepath.Join(dir, "nginx")
		if filepath.IsAbs(dir) && !seen[path] {
			seen[path] = true
			all = append(all, place{by, path})
		}
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if info, err := os.Stat(filepath.Join(dir, "nginx")); err == nil && !info.IsDir() {
			add("PATH", dir)
		}
	}
	// A user's PATH often lacks sbin.
	for _, dir := range []string{"/usr/sbin", "/usr/local/sbin", "/usr/local/nginx/sbin"} {
		add("usual place", dir)
	}
	return all
}

// Identify asks the executable at path what it is.
func Identify(ctx context.Context, path string) (Binary, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return Binary{}, err
	}
	text, err := buildText(ctx, path)
	if err != nil {
		return Binary{}, err
	}
	version, number, err := parseBuild(text)
	if err != nil {
		return Binary{}, fmt.Errorf("%s: %w", path, err)
	}
	return Binary{Path: path, Version: version, number: number}, nil
}

// buildText runs `nginx -V`, which writes to its standard error.
func buildText(ctx context.Context, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, identifyTimeout)
	defer cancel()
	return child.Output(ctx, child.Spec{Name: "nginx -V", Path: path, Args: []string{"-V"}, Env: []string{"LC_ALL=C"}}, 64<<10)
}

var versionLine = regexp.MustCompile(`(?m)^nginx version: \S*/((\d{1,6})\.(\d{1,6})\.(\d{1,6}))`)

// parseBuild reads the output of `nginx -V`.
func parseBuild(text string) (version string, number [3]int, err error) {
	m := versionLine.FindStringSubmatch(text)
	if m == nil {
		return "", number, errors.New("does not say its version to -V; is it nginx?")
	}
	if !strings.Contains(text, "--with-http_stub_status_module") {
		return "", number, fmt.Errorf("nginx %s is built without --with-http_stub_status_module, so its counts cannot be read; use another build", m[1])
	}
	for i := range number {
		number[i], _ = strconv.Atoi(m[2+i]) // at most six digits
	}
	return m[1], number, nil
}
