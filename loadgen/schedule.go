package loadgen

import (
	"iter"
	"math"
	"math/bits"
	"strconv"
	"time"
)

// slotNumerator is what is divided by a rate held as whole requests per 1e9 seconds. Together
// with 128-bit products it makes every slot exact, with no drift at any index.
const slotNumerator = 1_000_000_000_000_000_000 // ns per s × nano-requests per request

// schedule gives arrival i of a window its time and target. It is a pure
// function of the window: workers share it by value and take turns by index.
type schedule struct {
	arrival     Arrival
	nanoRate    uint64 // over all targets
	perTarget   uint64
	targets     []int
	durationNS  float64
	jitterSeed  uint64
	orderSeed   uint64
	poissonSeed uint64
	burst       uint64 // arrivals of a target at once
	coarse      int64
	lead        lead
}

// newSchedule needs a window whose rate, duration and targets are in range.
func newSchedule(spec Spec, w Window) (schedule, error) {
	nano := uint64(math.RoundToEven(w.Rate * 1e9))
	hi, lo := bits.Mul64(nano, uint64(w.Duration))
	lo, carry := bits.Add64(lo, slotNumerator/2, 0)
	hi += carry
	s := schedule{
		arrival:     spec.Arrival,
		targets:     w.Targets,
		durationNS:  float64(w.Duration),
		jitterSeed:  mix(w.Seed ^ 0x6a09e667f3bcc908),
		orderSeed:   mix(w.Seed ^ 0xbb67ae8584caa73b),
		poissonSeed: mix(w.Seed ^ 0x3c6ef372fe94f82b),
		burst:       uint64(max(spec.BurstSize, 1)),
		coarse:      int64(spec.Coarse),
	}
	if !w.open() {
		s.lead.end = int64(w.WarmUp)
		return s, nil
	}
	if hi >= slotNumerator { // more than 2^64 requests
		return s, invalid("Window.Rate", formatRate(w.Rate), "fewer than 2^63 requests in the window")
	}
	s.perTarget, _ = bits.Div64(hi, lo, slotNumerator)
	if s.perTarget == 0 {
		return s, invalid("Window.Rate", formatRate(w.Rate), "at least one request in a window of "+w.Duration.String()+": raise the rate or the duration")
	}
	// The product must fit, as must every index below it.
	if hi, _ := bits.Mul64(s.perTarget, uint64(len(w.Targets))); hi != 0 || s.perTarget > math.MaxInt64/uint64(len(w.Targets)) {
		return s, invalid("Window.Rate", formatRate(w.Rate), "fewer than 2^63 requests in the window")
	}
	if nano > math.MaxUint64/uint64(len(w.Targets)) {
		return s, invalid("Window.Rate", formatRate(w.Rate), "a total over all targets of at most 1.8e10 per second")
	}
	s.nanoRate = nano * uint64(len(w.Targets))
	s.lead = newLead(w)
	return s, nil
}

// Arrivals gives the arrivals of a window of so many targets as a generator
// of the spec sends them: the time of each after the start of the ramp, and
// the index of its target. It also returns the window with its defaults. The
// error is an *InvalidError.
func Arrivals(s Spec, targets int, w Window) (Window, iter.Seq2[time.Duration, int], error) {
	if err := s.Validate(); err != nil {
		return w, nil, err
	}
	s = s.withDefaults()
	w, err := w.resolve(s, targets)
	if err != nil {
		return w, nil, err
	}
	plan, err := newSchedule(s, w)
	if err != nil {
		return w, nil, err
	}
	return w, func(yield func(time.Duration, int) bool) {
		for c := plan.cursor(0, 1); ; {
			offset, target, ok := c.next()
			if !ok || !yield(time.Duration(offset), target) {
				return
			}
		}
	}, nil
}

func formatRate(r float64) unquoted { return unquoted(strconv.FormatFloat(r, 'g', -1, 64)) }

func (s *schedule) total() uint64 { return s.perTarget * uint64(len(s.targets)) }

// slotStart is i/rate in nanoseconds, rounded down.
func (s *schedule) slotStart(i uint64) int64 {
	hi, lo := bits.Mul64(i, slotNumerator)
	q, _ := bits.Div64(hi, lo, s.nanoRate)
	return int64(q)
}

// cursor walks the arrivals of one worker: of each group of as many arrivals
// as there are targets, every workers-th group.
type cursor struct {
	schedule
	worker, workers uint64
	i               uint64 // the next index of the schedule
	group           uint64 // of the order in perm
	perm            []int
	remaining       float64 // Poisson: share of the window that is left
	leading         uint64  // the next index of the lead
}

func (s schedule) cursor(worker, workers int) cursor {
	c := cursor{schedule: s, worker: uint64(worker), workers: uint64(workers), group: math.MaxUint64, remaining: 1}
	c.perm = append([]int(nil), s.targets...)
	c.leading = c.worker * uint64(len(s.targets))
	if s.arrival != Poisson {
		c.i = c.worker * uint64(len(s.targets))
	}
	return c
}

// next gives the worker's next arrival: nanoseconds after the start of the
// lead and the target. It allocates nothing.
func (c *cursor) next() (offset int64, target int, ok bool) {
	if c.leading < c.lead.total {
		return c.nextOfLead()
	}
	if c.arrival == Poisson {
		offset, target, ok = c.nextPoisson()
	} else {
		offset, target, ok = c.nextSlot()
	}
	if c.coarse > 0 {
		offset = c.roundUp(offset)
	}
	return offset + c.lead.end, target, ok
}

func (c *cursor) roundUp(offset int64) int64 {
	if late := offset % c.coarse; late > 0 {
		offset += c.coarse - late
	}
	return offset
}

// nextSlot is the next arrival of a shape that goes by slots.
func (c *cursor) nextSlot() (offset int64, target int, ok bool) {
	size := uint64(len(c.targets))
	if c.i >= c.total() {
		return 0, 0, false
	}
	i := c.i
	first, last := i, i+1 // the slots it may lie in
	if c.arrival == Burst {
		first = i / (c.burst * size) * (c.burst * size)
		last = min(first+c.burst*size, c.total())
	}
	offset = c.slotStart(first)
	if c.arrival != Uniform {
		width := uint64(c.slotStart(last) - offset)
		into, _ := bits.Mul64(mix(c.jitterSeed+first*golden), width)
		offset += int64(into)
	}
	target = c.order(i/size, i%size)
	if c.i++; c.i%size == 0 {
		c.i += (c.workers - 1) * size
	}
	return offset, target, true
}

// nextPoisson draws the order statistics of total uniform times one after
// the other: the smallest of n values that are uniform on what is left.
// Every worker draws them all and keeps its own.
func (c *cursor) nextPoisson() (int64, int, bool) {
	size := uint64(len(c.targets))
	for total := c.total(); c.i < total; {
		i := c.i
		c.i++
		u := (float64(mix(c.poissonSeed+i*golden)>>11) + 0.5) * (1.0 / (1 << 53))
		c.remaining *= math.Exp(math.Log(u) / float64(total-i))
		if i/size%c.workers != c.worker {
			continue
		}
		return int64(c.durationNS * (1 - c.remaining)), c.order(i/size, i%size), true
	}
	return 0, 0, false
}

// order is the target at place of a group: a seeded shuffle per group.
func (c *cursor) order(group, place uint64) int {
	if len(c.perm) > 1 && group != c.group {
		c.group = group
		copy(c.perm, c.targets)
		state := c.orderSeed + group*golden
		for n := len(c.perm) - 1; n > 0; n-- {
			state += 0xd1342543de82ef95
			j, _ := bits.Mul64(mix(state), uint64(n+1))
			c.perm[n], c.perm[j] = c.perm[j], c.perm[n]
		}
	}
	return c.perm[place]
}

// golden and mix are the increment and the output function of SplitMix64
// (Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
// 2014): a good hash of a counter, so that any worker can draw any index.
const golden = 0x9e3779b97f4a7c15

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
