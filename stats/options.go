package stats

// Options of an estimate. The zero value is right for a published row.
type Options struct {
	// Level is the confidence level of intervals, in (0.5, 1). Default 0.95. The
	// warnings that change a verdict (TooFewRounds, cross-checks that disagree)
	// are decided at 95% whatever it is.
	Level float64
	// OnePair is for rounds of a single pair, A-B or B-A: the interval then comes
	// from a model with an order term, at the price of one degree of freedom.
	// The log-ratio has the same term, and drift and serial correlation are looked
	// for in what it leaves. The sign-flip test and the other cross-checks stay as
	// they are: an order effect makes them careful, never wrong. Rounds of A-B-B-A
	// need none of this. Default false.
	OnePair bool
	// Flips is the number of drawn sign flips beyond 20 rounds. Default 99999.
	Flips int
	// Seed of the drawn flips; the same seed gives the same p. Default 0, a seed like any other.
	Seed uint64
}

type settled struct {
	level, alpha float64
	onePair      bool
	flips        int
	seed         uint64
}

func (o Options) settle() (settled, error) {
	level, err := settleLevel(o.Level)
	if err != nil {
		return settled{}, err
	}
	s := settled{level: level, alpha: 1 - level, onePair: o.OnePair, flips: o.Flips, seed: o.Seed}
	if s.flips == 0 {
		s.flips = defaultFlips
	}
	if s.flips < 99 || s.flips > 100_000_000 {
		return settled{}, &OptionError{"Flips", o.Flips, "0 for the default, or 99 to 100000000"}
	}
	return s, nil
}

func settleLevel(level float64) (float64, error) {
	if level == 0 {
		return 0.95, nil
	}
	if !(level > 0.5 && level <= 1-1e-12) {
		return 0, &OptionError{"Level", level, "0 for 0.95, or a value above 0.5 and below 1"}
	}
	return level, nil
}

// settleVerdictAlpha is the error rate of what calls rows different: a family
// may ask for less than 5%, never for more.
func settleVerdictAlpha(alpha float64) (float64, error) {
	if alpha == 0 {
		return 0.05, nil
	}
	if !(alpha >= 1e-12 && alpha <= 0.05) {
		return 0, &OptionError{"Alpha", alpha, "0 for 0.05, or a smaller value: no verdict errs more often"}
	}
	return alpha, nil
}

func settleAlpha(alpha float64) (float64, error) {
	if alpha == 0 {
		return 0.05, nil
	}
	if !(alpha >= 1e-12 && alpha < 0.5) {
		return 0, &OptionError{"Alpha", alpha, "0 for 0.05, or a value below 0.5"}
	}
	return alpha, nil
}
