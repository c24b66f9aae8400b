//go:build !linux

package abtest

import "errors"

func runningDigest(int, map[any]string) (string, error) {
	return "", errors.New("executables of processes are known on Linux only")
}
