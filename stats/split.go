package stats

import "math"

// Components are the variance components of one arm's cost, from a pilot with
// several process starts and several windows in each.
type Components struct {
	// Starts and Windows counted.
	Starts  int `json:"starts"`
	Windows int `json:"windows"`
	// BetweenSD is what a new process start adds, WithinSD what a window inside
	// one start does, both in percent of the mean cost.
	BetweenSD       float64  `json:"between_sd"`
	WithinSD        float64  `json:"within_sd"`
	BetweenInterval Interval `json:"between_interval"`
	// P tests "a start adds nothing".
	P        float64   `json:"p"`
	Warnings []Warning `json:"warnings"`
}

// VarianceComponents splits the variance of costs per response by process start:
// starts[i] are the windows of the i-th start, in any one unit.
//
//	within² = pooled variance around the start means
//	between² = max(0, var(start means) − within²·mean(1/windows))
//
// Source: Searle, Casella and McCulloch (1992); interval as in Blocks. Assumes
// independent windows; neighbouring windows that resemble each other make
// within too small and between too large. Needs two starts and, in at least
// one, two windows.
func VarianceComponents(starts [][]float64) (Components, error) {
	const q = "variance components"
	if len(starts) < 2 {
		return Components{}, notTestable(q, "there are %d process starts: the pilot needs 2 or more", len(starts))
	}
	var means, all []float64
	var ss, df, inverse float64
	for i, w := range starts {
		if err := checkValues(q, w); err != nil {
			return Components{}, err
		}
		m, sd := moments(w)
		if !(m >= minMagnitude) {
			return Components{}, notTestable(q, "the mean cost of start %d is %v: costs must be positive", i, m)
		}
		means = append(means, m)
		all = append(all, w...)
		ss += sd * sd * float64(len(w)-1)
		df += float64(len(w) - 1)
		inverse += 1 / float64(len(w)) / float64(len(starts))
	}
	grand, sdm := moments(means)
	b := Blocks{Count: len(starts)}
	b.component(sdm, ss, df, inverse, maxAbs(all), 0.05)
	if b.RestartSD == nil {
		return Components{}, notTestable(q, "%s", b.Note)
	}
	c := Components{Starts: len(starts), Windows: len(all), P: *b.P}
	c.BetweenSD, c.WithinSD = 100**b.RestartSD/grand, 100**b.WithinSD/grand
	i := *b.RestartInterval
	c.BetweenInterval = Interval{100 * i.Low / grand, 100 * i.High / grand, i.Level, i.Name}
	if b.Note != "" {
		warn(&c.Warnings, ComponentUnknown, "%s", b.Note)
	}
	for _, v := range []float64{c.BetweenSD, c.WithinSD, c.BetweenInterval.High} {
		if !(v <= maxMagnitude) {
			return Components{}, notTestable(q, "a component is %v%% of the mean cost", v)
		}
	}
	return c, nil
}

// SplitOptions describe the time there is.
type SplitOptions struct {
	// TotalSeconds for all rounds. Required.
	TotalSeconds float64
	// OverheadSeconds of one run besides its window: start, warm-up, drain. Required, may be 0.
	OverheadSeconds float64
	// PilotWindowSeconds is the window length behind WithinSD. Required.
	PilotWindowSeconds float64
	// RunsPerRound, half of them per arm. Default 4 (A-B-B-A).
	RunsPerRound int
	// MinWindowSeconds and MaxWindowSeconds bound the window. Defaults 3 and 60.
	MinWindowSeconds float64
	MaxWindowSeconds float64
	// MinRounds, and a number that rounds must be a multiple of. Defaults 6 and 2.
	MinRounds int
	Multiple  int
}

// Split is a way to spend the time.
type Split struct {
	Rounds        int     `json:"rounds"`
	WindowSeconds float64 `json:"window_seconds"`
	// RoundSD is the expected standard deviation of one round's change and
	// HalfWidth the expected 95% half-width of the row, in percent, this session only.
	RoundSD   float64 `json:"round_sd"`
	HalfWidth float64 `json:"half_width"`
	// IdealWindowSeconds is √(overhead·pilot window)·within/between, what theory
	// says without bounds and whole numbers; nil when between is not shown.
	IdealWindowSeconds *float64 `json:"ideal_window_seconds"`
}

// CheapestSplit finds the rounds and window length with the shortest expected
// interval for the time there is. A round of R runs, half per arm, varies by
//
//	SD² = 2·(between² + within²·pilotWindow/window)/(R/2)
//
// and rounds·R·(overhead+window) ≤ total. All numbers of rounds up to 200, then in
// steps of half a percent, are tried with t_{n−1}·SD/√n. Source: the rule of Kalibera and Jones (2013), which is
// Cochran's (1977, ch. 10) for subsampling. Assumes that a run is a process
// start and that windows within it are white noise, so that within² falls as 1/window.
func CheapestSplit(c Components, o SplitOptions) (Split, error) {
	if o.RunsPerRound == 0 {
		o.RunsPerRound = 4
	}
	if o.MinWindowSeconds == 0 {
		o.MinWindowSeconds = 3
	}
	if o.MaxWindowSeconds == 0 {
		o.MaxWindowSeconds = math.Max(60, o.MinWindowSeconds)
	}
	if o.MinRounds == 0 {
		o.MinRounds = 6
	}
	if o.Multiple == 0 {
		o.Multiple = 2
	}
	ok := func(x float64) bool { return x > 0 && x <= 1e9 }
	switch {
	case !ok(o.TotalSeconds) || !ok(o.PilotWindowSeconds) || !ok(o.MinWindowSeconds) || !ok(o.MaxWindowSeconds) || !(o.OverheadSeconds >= 0 && o.OverheadSeconds <= 1e9):
		return Split{}, &OptionError{"seconds", o, "positive numbers up to 1e9 (overhead may be 0)"}
	case o.MaxWindowSeconds < o.MinWindowSeconds || o.PilotWindowSeconds < 1e-6 || o.MinWindowSeconds < 1e-6:
		return Split{}, &OptionError{"window seconds", o, "windows of a microsecond or more, the longest not below the shortest"}
	case o.RunsPerRound < 2 || o.RunsPerRound%2 != 0 || o.RunsPerRound > 1000 || o.MinRounds < 2 || o.Multiple < 1 || o.MinRounds > maxRounds || o.Multiple > maxRounds:
		return Split{}, &OptionError{"RunsPerRound, MinRounds, Multiple", o, "an even number of runs, 2 or more rounds, a multiple of 1 or more"}
	case !(c.BetweenSD >= 0 && c.BetweenSD <= 1e9) || !(c.WithinSD > 1e-9 && c.WithinSD <= 1e9):
		return Split{}, notTestable("split", "components are %v%% and %v%%: they must be finite, within positive", c.BetweenSD, c.WithinSD)
	}
	runs := float64(o.RunsPerRound)
	var best Split
	first := (o.MinRounds + o.Multiple - 1) / o.Multiple * o.Multiple
	for n := first; n <= maxRounds; n += o.Multiple * (1 + n/(200*o.Multiple)) {
		w := o.TotalSeconds/(float64(n)*runs) - o.OverheadSeconds
		if w < o.MinWindowSeconds {
			break
		}
		w = math.Min(w, o.MaxWindowSeconds)
		sd := math.Sqrt(2 * (c.BetweenSD*c.BetweenSD + c.WithinSD*c.WithinSD*o.PilotWindowSeconds/w) / (runs / 2))
		h := tUpper(0.025, float64(n-1)) * sd / math.Sqrt(float64(n))
		if best.Rounds == 0 || h < best.HalfWidth {
			best = Split{Rounds: n, WindowSeconds: w, RoundSD: sd, HalfWidth: h}
		} else if h > 2*best.HalfWidth {
			break // one valley: it only rises from here
		}
	}
	if best.Rounds == 0 {
		return Split{}, notTestable("split", "%.6g s hold no %d rounds of %d runs with windows of %.3g s", o.TotalSeconds, first, o.RunsPerRound, o.MinWindowSeconds)
	}
	if c.BetweenSD > 1e-9*c.WithinSD {
		w := math.Sqrt(o.OverheadSeconds*o.PilotWindowSeconds) * c.WithinSD / c.BetweenSD
		best.IdealWindowSeconds = &w
	}
	return best, nil
}
