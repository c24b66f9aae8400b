package stats

import (
	"testing"
)

// The gonum trap, and the values around the switch to the expansion.
func TestStudentTTails(t *testing.T) {
	for _, c := range []struct{ q, df, want float64 }{
		{.025, 11, 2.200985160082949}, {.025, 19, 2.093024054408263}, {.025, 3, 3.182446305284263},
		{.025, 1, 12.70620473617471}, {.05 / 18, 11, 3.4368}, {.05 / 30, 11, 3.7283},
		{1e-12, 1e6, 7.0346}, {.025, normalDF, 1.959963984540054},
	} {
		rel := nine
		if c.want == 3.4368 || c.want == 3.7283 || c.want == 7.0346 {
			rel = 2e-5 // printed digits
		}
		near(t, c.want, tUpper(c.q, c.df), rel)
	}
	// No step at the switch, in the middle or far out.
	for _, q := range []float64{.4, .025, 1e-4, 1e-8} {
		below, above := tUpper(q, largeDF), tUpper(q, largeDF+1e-3)
		near(t, below, above, 1e-8)
	}
	for _, df := range []float64{1, 5, 11, 400, 9e3, 1.1e4, 1e6, 1e8} {
		for _, q := range []float64{.3, .025, 1e-3, 1e-6} {
			near(t, q, tSurvival(tUpper(q, df), df), 1e-6)
		}
	}
	near(t, .05, fSurvival(fUpper(.05, 5, 18), 5, 18), nine)
	near(t, 2.772853, fUpper(.05, 5, 18), 1e-6)
	near(t, 16.918978, chiSquaredUpper(.05, 9), 1e-6)
}
