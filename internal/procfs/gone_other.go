//go:build !linux

package procfs

func gone(err error) error { return err }
