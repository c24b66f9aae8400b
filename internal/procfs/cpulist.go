package procfs

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxCPU is the highest CPU number that a list may name here; it only bounds
// the memory that a hostile list can ask for.
const MaxCPU = 1<<16 - 1

// ErrOpenList is returned by [ParseCPUList] for a list that says "all" or "N"
// and therefore means something only together with the number of CPUs.
var ErrOpenList = errors.New("list says all or N; use ParseCPUListUpTo")

// ParseCPUList reads a list of CPUs as the kernel writes and accepts it:
// numbers and ranges separated by commas or white space, empty regions
// allowed, a range optionally followed by :used/group, which takes the first
// used numbers of each group. The result is sorted and has no duplicates; the
// empty list is empty and not an error.
func ParseCPUList(s string) ([]int, error) { return parseCPUList(s, -1) }

// ParseCPUListUpTo is ParseCPUList on a host whose highest CPU is last: "all"
// is 0 to last, N is last, and a number above last is an error.
func ParseCPUListUpTo(s string, last int) ([]int, error) {
	if last < 0 || last > MaxCPU {
		return nil, fmt.Errorf("procfs: last CPU %d is outside 0..%d", last, MaxCPU)
	}
	return parseCPUList(s, last)
}

func parseCPUList(s string, last int) ([]int, error) {
	set := map[int]bool{}
	regions := strings.FieldsFunc(s, func(r rune) bool {
		return r == ',' || r == ' ' || r == '\t' || r == '\n' || r == '\v' || r == '\f' || r == '\r'
	})
	for _, region := range regions {
		if err := addRegion(set, region, last); err != nil {
			return nil, fmt.Errorf("procfs: CPU list %q: region %q: %w", s, region, err)
		}
	}
	list := make([]int, 0, len(set))
	for cpu := range set {
		list = append(list, cpu)
	}
	slices.Sort(list)
	return list, nil
}

func addRegion(set map[int]bool, region string, last int) error {
	span, pattern, hasPattern := strings.Cut(region, ":")
	first, end, isRange := strings.Cut(span, "-")
	if span == "all" {
		first, end, isRange = "0", "N", true
	}
	if hasPattern && !isRange {
		return errors.New("a pattern needs a range before it")
	}
	a, err := parseCPU(first, last)
	if err != nil {
		return err
	}
	b := a
	if isRange {
		if b, err = parseCPU(end, last); err != nil {
			return err
		}
	}
	if a > b {
		return errors.New("the range runs backwards")
	}
	used, group := b+1, b+1
	if hasPattern {
		u, g, ok := strings.Cut(pattern, "/")
		if !ok {
			return errors.New("a pattern is used/group")
		}
		if used, err = parseCPU(u, last); err != nil {
			return err
		}
		if group, err = parseCPU(g, last); err != nil {
			return err
		}
		if group == 0 || used > group {
			return errors.New("a pattern wants 0 <= used <= group and group > 0")
		}
	}
	for cpu := a; cpu <= b; cpu++ {
		if (cpu-a)%group < used {
			set[cpu] = true
		}
	}
	return nil
}

func parseCPU(s string, last int) (int, error) {
	if s == "N" {
		if last < 0 {
			return 0, ErrOpenList
		}
		return last, nil
	}
	if s == "" || s[0] < '0' || s[0] > '9' {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	limit := MaxCPU
	if last >= 0 {
		limit = last
	}
	if n > limit {
		return 0, fmt.Errorf("%d is above the highest CPU %d", n, limit)
	}
	return n, nil
}

// FormatCPUList writes CPUs the way the kernel does: sorted, runs as a-b,
// separated by commas, no spaces. No CPUs give the empty string.
func FormatCPUList(cpus []int) string {
	sorted := slices.Clone(cpus)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	var b strings.Builder
	for i := 0; i < len(sorted); {
		j := i
		for j+1 < len(sorted) && sorted[j+1] == sorted[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(sorted[i]))
		if j > i {
			b.WriteString("-" + strconv.Itoa(sorted[j]))
		}
		i = j + 1
	}
	return b.String()
}
