package stats_test

import (
	"fmt"

	"github.com/tareperf/tare/stats"
)

// Twelve A-B-B-A rounds of two arms, the one row that was planned, and an arm equal to the baseline beside them.
func Example() {
	var rounds, placebo []stats.Round
	for i, noise := range []float64{.4, -.3, .1, -.5, .3, .2, -.4, .5, -.1, -.2, .3, -.3} {
		off := stats.Arm{Cost: 250e9 + 1e9*float64(i%3), Responses: 1e6} // nanoseconds for a million responses
		r := stats.Round{Index: i, Baseline: off, Variant: off}
		r.Variant.Cost *= 1.028 + noise/100
		rounds = append(rounds, r)
		r.Variant.Cost = off.Cost * (1 - noise/200)
		placebo = append(placebo, r)
	}
	row, err := stats.FromRounds(rounds, stats.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	same, err := stats.FromRounds(placebo, stats.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	effect := row.Effect()
	interval := row.Interval.Percent()
	fmt.Printf("%+.2f%% [%+.2f, %+.2f], sign-flip p %.4f, %d of %d rounds\n",
		effect.Value, interval.Low, interval.High, row.SignFlip.P, row.Signs.Same, row.Signs.Of)

	floor, err := stats.FloorFromPlacebo(same.Effect(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	v := stats.Judge(stats.VerdictInput{Effect: effect, Floor: &floor, Family: 1, Warnings: row.Warnings})
	fmt.Println(v.Kind, "-", v.Clause)
	fmt.Println(v.Text)
	// Output:
	// +2.80% [+2.58, +3.02], sign-flip p 0.0005, 12 of 12 rounds
	// finding - above max(2%, 2 x floor), this session only
	// +2.8% [+2.58, +3.02], floor 0.108%; this session only: how much sessions differ is unknown
}

// A duet session: the arms were restarted six times, and the block between two
// restarts is the unit.
func ExampleBlocked() {
	ratios := []float64{1.020, 1.022, 1.031, 1.029, 1.018, 1.020, 1.027, 1.025, 1.022, 1.024, 1.030, 1.028}
	block := []int{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}
	e, err := stats.Blocked(ratios, block, stats.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	i := e.Interval.Percent()
	fmt.Printf("%+.2f%% [%+.2f, %+.2f] over %d blocks\n", e.Effect().Value, i.Low, i.High, e.Units)
	fmt.Printf("restart adds %.2f%% [%.2f, %.2f]\n", 100**e.Blocks.RestartSD, 100*e.Blocks.RestartInterval.Low, 100*e.Blocks.RestartInterval.High)
	// Output:
	// +2.47% [+2.00, +2.93] over 6 blocks
	// restart adds 0.43% [0.23, 1.08]
}

// One session's result widened by the spread that this rig showed between
// sessions, and the sessions that a smaller difference would need.
func ExampleWiden() {
	session := stats.Effect{Value: 1.55, SE: .295, DF: 11, Sessions: 1}
	spread := stats.Spread{Percent: .34, DF: 9}
	wide, _, err := stats.Widen(session, spread)
	if err != nil {
		fmt.Println(err)
		return
	}
	i, _ := wide.Interval(0)
	fmt.Printf("[%+.2f, %+.2f] %s\n", i.Low, i.High, i.Name)
	limit, _ := stats.Design{SD: 1, Spread: &spread}.Limit(0)
	fmt.Printf("no number of rounds in one session finds less than %.2f%%\n", limit)
	// Output:
	// [+0.61, +2.49] widened
	// no number of rounds in one session finds less than 1.07%
}

// A plan with a look half-way, for the one row that was planned. A p of .03 is no
// result there; at the end it would be one only below .025.
func ExamplePlanLooks() {
	plan, err := stats.PlanLooks([]int{12, 24}, 0, stats.EqualSpending)
	if err != nil {
		fmt.Println(err)
		return
	}
	effect := stats.Effect{Value: 2.6, SE: 1.043, DF: 11, Sessions: 1}
	for _, rounds := range []int{12, 16} {
		look := plan.Look(rounds)
		v := stats.Judge(stats.VerdictInput{Effect: effect, Floor: &stats.Floor{Percent: .9}, Family: 1, Look: &look})
		fmt.Println(v.Text)
	}
	// A look that could not come out is refused when it is planned.
	_, err = stats.PlanLooks([]int{6, 12, 24}, 0, stats.LateSpending)
	fmt.Println(err)
	// Output:
	// no resolved difference: +2.6% [-0.105, +5.3] at 97.5%; nothing bigger than 4.9%
	// not a finding: +2.6% [+0.304, +4.9], seen after 16 rounds, where no look was planned
	// look 1: with 6 units the smallest possible sign-flip p is 0.0312, and in a family of 1 no row above 8.86e-05 can be called different: plan at least 15 units, fewer looks, or a smaller family
}
