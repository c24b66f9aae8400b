package main

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// isTerminal tells whether w is a terminal, and how many columns it has.
func isTerminal(w io.Writer) (columns int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile {
		return 0, false
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, false
	}
	return int(size.Col), true
}
