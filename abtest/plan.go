package abtest

import (
	"math/rand/v2"
	"time"

	"github.com/tareperf/tare/stats"
)

// Plan is every decision that is made before anything starts, a pure function
// of the experiment: the same seed gives the same plan.
type Plan struct {
	Way      Way
	Seed     uint64
	Rounds   int
	Warmup   time.Duration
	Window   time.Duration
	Settle   time.Duration // quiet time after the load that still belongs to the window
	Drain    time.Duration // bound on waiting for answers after the last arrival
	Redo     int
	Schedule []PlannedRound
	// Blocks are the numbers of consecutive rounds between restarts of the
	// arms (Duet).
	Blocks []int `json:",omitempty"`
}

// PlannedRound is the order of one round: in Restart the arms in order of
// their runs, in Duet the arms that meet the baseline, in order.
type PlannedRound struct {
	Order []int // arm 0 is the baseline
	Seed  uint64
}

const (
	minBlocks       = 6 // fewer give an interval that means nothing
	quietLook       = 300 * time.Millisecond
	settleMargin    = 50 * time.Millisecond
	restartOverhead = 700 * time.Millisecond // start, connect, look at the host, stop
	windowOverhead  = 150 * time.Millisecond
)

// newPlan fills in what the experiment left open. period is the longest that
// any arm declares.
func newPlan(e Experiment, arms int, period time.Duration, seed uint64) Plan {
	p := Plan{
		Way: e.Way, Seed: seed, Rounds: e.Rounds, Warmup: e.Warmup, Window: e.Window,
		Redo: e.Redo, Drain: 5 * time.Second,
	}
	p.Settle = period + settleMargin
	rng := rand.New(rand.NewPCG(seed, 0x7461726520706c61))
	if p.Way == Restart {
		p.restart(arms, period, rng)
	} else {
		p.duet(arms, e.Blocks, rng)
	}
	if p.Redo == 0 {
		p.Redo = max(6, p.Rounds)
	}
	return p
}

func (p *Plan) restart(arms int, period time.Duration, rng *rand.Rand) {
	if period > 0 {
		// A whole number of periods of load, so that what is done once a period
		// weighs the same in every window; the last of it comes in the settling
		// time.
		p.Window = (p.Window + period - 1) / period * period
	}
	rows := balancedOrders(arms)
	p.Rounds = (p.Rounds + len(rows) - 1) / len(rows) * len(rows)
	for len(p.Schedule) < p.Rounds {
		for _, row := range rows {
			p.Schedule = append(p.Schedule, PlannedRound{Order: row, Seed: rng.Uint64()})
		}
	}
}

// balancedOrders is one whole design: A-B-B-A and B-A-A-B for two arms, a
// Williams design for more.
func balancedOrders(arms int) [][]int {
	if arms == 2 {
		return stats.ABBA(2)
	}
	return williams(arms)
}

func williams(arms int) [][]int {
	rows, err := stats.Williams(arms)
	if err != nil {
		panic(err) // arms were counted by checkArms
	}
	return rows
}

func (p *Plan) duet(arms, blocks int, rng *rand.Rand) {
	if blocks == 0 {
		blocks = max(minBlocks, p.Rounds/2)
	}
	blocks += blocks % 2 // the order of starts is swapped from block to block
	blocks = min(blocks, p.Rounds)
	for i := range blocks {
		// The remainder is spread, not heaped on one end.
		p.Blocks = append(p.Blocks, (i+1)*p.Rounds/blocks-i*p.Rounds/blocks)
	}
	// Each other arm has each place in a round equally often, and follows each
	// other one equally often; the seed says which is which.
	rows, name := [][]int{{0}}, rng.Perm(arms-1)
	if arms > 2 {
		rows = williams(arms - 1)
	}
	for i := range p.Rounds {
		var order []int
		for _, a := range rows[i%len(rows)] {
			order = append(order, name[a]+1)
		}
		p.Schedule = append(p.Schedule, PlannedRound{Order: order, Seed: rng.Uint64()})
	}
}

// Duration is how long the plan takes if no round has to be redone, with the
// pilot.
func (p Plan) Duration() time.Duration {
	total := p.pilotTime()
	window := p.Window + p.Settle + windowOverhead
	for _, r := range p.Schedule {
		total += quietLook + time.Duration(len(r.Order))*window
		if p.Way == Restart {
			total += time.Duration(len(r.Order)) * (restartOverhead + quietLook + p.Warmup + p.Settle)
		}
	}
	for range p.Blocks {
		total += p.Warmup + p.Settle + 2*restartOverhead
	}
	return total
}

// arms returns the arms in the order in which the baseline and the others
// were declared; the placebo that is added by default comes last.
func (e Experiment) arms() []Arm {
	arms := append([]Arm{e.Baseline}, e.Variants...)
	if e.NoPlacebo != "" || e.hasPlacebo() {
		return arms
	}
	return append(arms, Arm{Name: "placebo", Target: e.Baseline.Target, Placebo: true})
}

func (e Experiment) hasPlacebo() bool {
	for _, v := range e.Variants {
		if v.Placebo {
			return true
		}
	}
	return false
}
