package procfs

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"syscall"
)

// gone makes the two answers of the kernel for a task that ended, ENOENT when
// its directory cannot be found and ESRCH when an open file loses it, one.
func gone(err error) error {
	if errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("%w: %w", err, iofs.ErrNotExist)
	}
	return err
}
