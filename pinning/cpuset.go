package pinning

import (
	"slices"

	"github.com/tareperf/tare/internal/procfs"
)

// CPUSet is a set of CPUs by the kernel's numbers. The zero value is empty. A
// CPUSet is a value: no method changes it.
type CPUSet struct{ cpus []int }

// NewCPUSet makes a set; order and duplicates do not matter.
func NewCPUSet(cpus ...int) CPUSet {
	c := slices.Clone(cpus)
	slices.Sort(c)
	return CPUSet{slices.Compact(c)}
}

// ParseCPUSet reads a list as the kernel writes it, such as "0-3,8".
func ParseCPUSet(s string) (CPUSet, error) {
	cpus, err := procfs.ParseCPUList(s)
	return CPUSet{cpus}, err
}

// CPUs lists the set, ascending.
func (s CPUSet) CPUs() []int { return slices.Clone(s.cpus) }

// Len is the number of CPUs.
func (s CPUSet) Len() int { return len(s.cpus) }

// Has reports whether a CPU is in the set.
func (s CPUSet) Has(cpu int) bool { return slices.Contains(s.cpus, cpu) }

// Equal reports whether both hold the same CPUs.
func (s CPUSet) Equal(o CPUSet) bool { return slices.Equal(s.cpus, o.cpus) }

// Union is the CPUs of either.
func (s CPUSet) Union(o CPUSet) CPUSet { return NewCPUSet(append(s.CPUs(), o.cpus...)...) }

// Minus is the CPUs that are in s and not in o.
func (s CPUSet) Minus(o CPUSet) CPUSet {
	return CPUSet{slices.DeleteFunc(s.CPUs(), o.Has)}
}

// Intersect is the CPUs of both.
func (s CPUSet) Intersect(o CPUSet) CPUSet {
	return CPUSet{slices.DeleteFunc(s.CPUs(), func(cpu int) bool { return !o.Has(cpu) })}
}

// String is the kernel's list format, such as "0-3,8"; empty for the empty set.
func (s CPUSet) String() string { return procfs.FormatCPUList(s.cpus) }

// MarshalText is String.
func (s CPUSet) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is ParseCPUSet.
func (s *CPUSet) UnmarshalText(text []byte) error {
	parsed, err := ParseCPUSet(string(text))
	if err != nil {
		return err
	}
	*s = parsed
	return nil
}
