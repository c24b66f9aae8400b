package main

import (
	"fmt"
	"io"
	"io/fs"
)

// archive writes the cpio format "newc" that Linux unpacks as its first file
// system (Documentation/driver-api/early-userspace/buffer-format.rst): for each
// file a header of hexadecimal fields, the name and the data, each padded to
// four bytes.
type archive struct {
	w    io.Writer
	next uint32 // inode number; the kernel takes equal ones for hard links
	err  error  // the first; later writes do nothing
}

// Type bits of the mode, as stat(2) has them.
const (
	modeFile      = 0o100000
	modeDirectory = 0o040000
	modeCharacter = 0o020000
)

func (a *archive) file(name string, perm fs.FileMode, data []byte) {
	a.entry(name, modeFile|uint32(perm.Perm()), 0, 0, data)
}

func (a *archive) directory(name string) { a.entry(name, modeDirectory|0o755, 0, 0, nil) }

func (a *archive) character(name string, major, minor uint32) {
	a.entry(name, modeCharacter|0o600, major, minor, nil)
}

// end writes the entry that ends an archive, and returns the first error.
func (a *archive) end() error {
	a.entry("TRAILER!!!", 0, 0, 0, nil)
	return a.err
}

func (a *archive) entry(name string, mode, major, minor uint32, data []byte) {
	a.next++
	header := fmt.Sprintf("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		a.next, mode, 0, 0, // inode, mode, uid, gid
		1, 0, len(data), // links, mtime, size
		0, 0, major, minor, // the file's device, the device it is
		len(name)+1, 0) // length of the name with its NUL, checksum (unused)
	a.write([]byte(header + name + "\x00"))
	a.pad(len(header) + len(name) + 1)
	a.write(data)
	a.pad(len(data))
}

func (a *archive) pad(n int) { a.write(make([]byte, (4-n%4)%4)) }

func (a *archive) write(b []byte) {
	if a.err == nil {
		_, a.err = a.w.Write(b)
	}
}
