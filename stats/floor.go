package stats

import (
	"math"
)

// FewAA is the number of A/A sessions from which the floor is a prediction
// interval; below it, one session's interval has to do.
const FewAA = 6

// Floor is the size of difference that the rig cannot tell from noise, for one
// shape of measurement.
type Floor struct {
	// Percent is the floor.
	Percent float64 `json:"percent"`
	// Rule says which regime made it.
	Rule string `json:"rule"`
	// Sessions of A/A behind it.
	Sessions int `json:"sessions"`
	// SessionOnly is true when no between-session spread is in it: another
	// session's A/A may exceed it more often than it should.
	SessionOnly bool      `json:"session_only"`
	Warnings    []Warning `json:"warnings"`
}

// FloorFromAA is the floor from A/A effects (percent) of one shape: this session's
// and those of other sessions. spread is the between-session spread, nil where
// none was measured (PooledSpread of the A/A sessions is one).
//
// One to five sessions in all: floor = max(|e|+h, √(h²+(1.96τ)²)) of this
// session's A/A, h its 95% half-width. Without spread the largest |e|+h of all of
// them, and the floor is marked SessionOnly. Six or more:
// t_{K−1,.975}·sd(e)·√(1+1/K), a prediction interval for the next A/A, plus |mean|
// where the pooled bias is not zero; never below this session's |e|+h.
// Measured by simulation at 6, 12 and 20 rounds: with spread or from six sessions a
// new A/A session exceeds it in 5% of cases or fewer (6.3% where neighbouring rounds
// correlate at +0.3, 6.0% where one round in twelve is hit from one side); it exceeds
// the half-width alone in 10% to 27%, and without spread this floor in up to 10%.
// Source of the prediction interval: Hahn (1970). Assumes that A/A sessions vary like the row's own.
func FloorFromAA(this Effect, others []Effect, spread *Spread) (Floor, error) {
	aa := append([]Effect{this}, others...)
	if err := checkSessions("floor", aa); err != nil {
		return Floor{}, err
	}
	f := Floor{Sessions: len(aa)}
	shown := reach(this)
	if len(aa) >= FewAA {
		y := make([]float64, len(aa))
		for i, e := range aa {
			y[i] = e.Value
		}
		m, sd := moments(y)
		k := float64(len(aa))
		f.Rule = "prediction interval over A/A sessions"
		if noSpread(sd, y) || sd < minMagnitude {
			return Floor{}, notTestable("floor", "all %d A/A sessions gave exactly %v", len(aa), y[0])
		}
		f.Percent = predictionFloor(y)
		if b := math.Abs(m); b > tUpper(0.025, k-1)*sd/math.Sqrt(k) {
			f.Percent += b
			warn(&f.Warnings, Biased, "A/A averages %.3g%% over %d sessions: the floor is raised by it", m, len(aa))
		}
		if shown > f.Percent {
			f.Percent, f.Rule = shown, "|A/A| + half-width of this session, above the prediction interval"
		}
		return f, nil
	}
	f.Percent, f.Rule = shown, "|A/A| + half-width"
	if spread == nil {
		// Nothing says how far apart sessions may lie, but these were seen.
		for _, e := range others {
			if r := reach(e); r > f.Percent {
				f.Percent, f.Rule = r, "|A/A| + half-width of another session"
			}
		}
	}
	return f.withSpread(this, spread)
}

// reach is how far from zero the session's A/A may truly lie: |e| + half-width.
func reach(e Effect) float64 { return math.Abs(e.Value) + tUpper(0.025, e.DF)*e.SE }

// predictionFloor is the half-width of the 95% prediction interval for one more value.
func predictionFloor(y []float64) float64 {
	_, sd := moments(y)
	k := float64(len(y))
	return tUpper(0.025, k-1) * sd * math.Sqrt(1+1/k)
}

func (f Floor) withSpread(e Effect, spread *Spread) (Floor, error) {
	if spread == nil {
		f.SessionOnly = true
		warn(&f.Warnings, SessionOnly, "the between-session spread is unknown: the floor holds for this session")
		return f, nil
	}
	tau, err := spread.use(&f.Warnings)
	if err != nil {
		return Floor{}, err
	}
	if w := math.Hypot(tUpper(0.025, e.DF)*e.SE, 1.96*tau); w > f.Percent {
		f.Percent, f.Rule = w, "half-width with between-session spread"
	}
	return f, nil
}

// FloorFromPlacebo is the floor of those very minutes: an arm equal to the
// baseline, measured in the same rounds as the row: floor = |e|+h of the placebo,
// or √(h²+(1.96τ)²) where a spread is known and that is larger. Source:
// FloorFromAA's rule for one session. Assumes that the placebo had the same
// number of rounds and the same share of them as the row.
func FloorFromPlacebo(placebo Effect, spread *Spread) (Floor, error) {
	if err := placebo.check("floor"); err != nil {
		return Floor{}, err
	}
	f := Floor{Sessions: 1, Rule: "placebo: |e| + half-width"}
	f.Percent = reach(placebo)
	return f.withSpread(placebo, spread)
}
