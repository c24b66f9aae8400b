package loadgen

import "math"

// lead is what comes before the measured part of a window: the ramp and the
// warm-up. Its arrivals are no part of the results, and floating point is
// exact enough for them.
type lead struct {
	end   int64 // nanoseconds; the measured part starts here
	total uint64
	ramp  float64 // nanoseconds
	inRamp,
	rate float64 // arrivals in the ramp, and per nanosecond after it
}

func newLead(w Window) lead {
	n := float64(len(w.Targets))
	l := lead{end: int64(w.Ramp + w.WarmUp), ramp: float64(w.Ramp), rate: w.Rate * n / 1e9}
	l.inRamp = l.rate * l.ramp / 2
	// Whole groups, so that each target has the same number.
	l.total = uint64((l.inRamp+l.rate*float64(w.WarmUp))/n) * uint64(len(w.Targets))
	return l
}

// at is the time of arrival i, which may be a broken number.
func (l lead) at(i float64) float64 {
	if i < l.inRamp {
		return math.Sqrt(i/l.inRamp) * l.ramp
	}
	return l.ramp + (i-l.inRamp)/l.rate
}

// nextOfLead is the worker's next arrival before the measured part. The
// groups of a lead have orders of their own.
func (c *cursor) nextOfLead() (int64, int, bool) {
	size := uint64(len(c.targets))
	i := c.leading
	u := 0.0
	if c.arrival != Uniform {
		u = float64(mix(c.jitterSeed+^i*golden)>>11) / (1 << 53)
	}
	offset := int64(c.lead.at(float64(i) + u))
	if c.coarse > 0 {
		offset = c.roundUp(offset)
	}
	target := c.order(math.MaxUint64/2+i/size, i%size)
	if c.leading++; c.leading%size == 0 {
		c.leading += (c.workers - 1) * size
	}
	return min(offset, c.lead.end-1), target, true
}
