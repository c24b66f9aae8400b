//go:build !linux

package loadgen

// Warnings foresees what would go wrong with a window on this host; nothing
// is known of hosts other than Linux.
func Warnings(Spec, []Target, Window) []string { return nil }
