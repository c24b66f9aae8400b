package stats

// ABBA is the schedule of two arms, 0 the baseline: A-B-B-A in even rounds and
// B-A-A-B in odd ones. A-B-B-A cancels a linear drift within the round, and the
// alternation what is left of a curved one (warm-up): the places of either arm
// add up to the same, 0+3 = 1+2. rounds should be even.
// Source: counterbalancing, Cox (1958). Assumes drift smooth over a few rounds.
func ABBA(rounds int) [][]int {
	var s [][]int
	for i := range max(0, rounds) {
		if i%2 == 0 {
			s = append(s, []int{0, 1, 1, 0})
		} else {
			s = append(s, []int{1, 0, 0, 1})
		}
	}
	return s
}

// Williams is the Williams design for arms 0 to arms−1: each row is one round,
// every arm once; over all rows each arm has each position equally often and
// follows each other arm equally often. Even numbers of arms take that many
// rounds, odd ones twice as many; whole repeats of the design stay balanced.
//
// First row f = 0, 1, k−1, 2, k−2, …; row i = f + i modulo k; for odd k the same
// rows reversed are appended. Source: Williams (1949). Assumes that a run can carry
// over to the next one only. Cyclic rotation is not enough:
// it balances positions, but lets every arm follow the same neighbour.
func Williams(arms int) ([][]int, error) {
	if arms < 2 || arms > 1000 {
		return nil, &OptionError{"arms", arms, "2 to 1000 arms"}
	}
	first := []int{0}
	for i, lo, hi := 1, 1, arms-1; i < arms; i++ {
		if i%2 == 1 {
			first = append(first, lo)
			lo++
		} else {
			first = append(first, hi)
			hi--
		}
	}
	var rows [][]int
	for i := range arms {
		row := make([]int, arms)
		for j, v := range first {
			row[j] = (v + i) % arms
		}
		rows = append(rows, row)
	}
	if arms%2 == 1 {
		for i := range arms {
			row := make([]int, arms)
			for j := range row {
				row[j] = rows[i][arms-1-j]
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// Balance says how evenly a list of rounds treats its arms.
type Balance struct {
	Arms int `json:"arms"`
	// Positions[a][p] counts arm a at position p of a round; Follows[a][b] counts
	// b run directly after a within a round.
	Positions [][]int `json:"positions"`
	Follows   [][]int `json:"follows"`
	// Runs, Places and Neighbours are true when every arm runs equally often in
	// every round, has each position equally often, and follows each other arm
	// equally often.
	Runs       bool `json:"runs"`
	Places     bool `json:"places"`
	Neighbours bool `json:"neighbours"`
	// Linear is true when every arm's positions have the same mean within every
	// round: a linear drift then cancels round by round.
	Linear bool `json:"linear"`
}

// Balanced reports whether runs, places and neighbours are all even.
func (b Balance) Balanced() bool { return b.Runs && b.Places && b.Neighbours }

// CheckBalance counts positions and neighbours of a list of rounds, each a list
// of arm numbers from 0 in the order in which they ran.
func CheckBalance(rounds [][]int) (Balance, error) {
	const q = "balance"
	if len(rounds) == 0 || len(rounds[0]) == 0 {
		return Balance{}, notTestable(q, "there are no runs")
	}
	length, arms := len(rounds[0]), 0
	for i, r := range rounds {
		if len(r) != length {
			return Balance{}, notTestable(q, "round %d has %d runs and round 0 has %d", i, len(r), length)
		}
		for _, a := range r {
			if a < 0 || a >= 1000 {
				return Balance{}, notTestable(q, "round %d has arm %d: arms are numbered 0 to 999", i, a)
			}
			arms = max(arms, a+1)
		}
	}
	b := Balance{Arms: arms, Runs: true, Places: true, Neighbours: true, Linear: true}
	b.Positions, b.Follows = make([][]int, arms), make([][]int, arms)
	for a := range arms {
		b.Positions[a], b.Follows[a] = make([]int, length), make([]int, arms)
	}
	for _, r := range rounds {
		runs, places := make([]int, arms), make([]int, arms)
		for p, a := range r {
			b.Positions[a][p]++
			runs[a]++
			places[a] += p
			if p > 0 {
				b.Follows[r[p-1]][a]++
			}
		}
		for a := range arms {
			b.Runs = b.Runs && runs[a] == runs[0]
			// Means compared by cross-multiplication: no division, no rounding.
			b.Linear = b.Linear && places[a]*runs[0] == places[0]*runs[a]
		}
	}
	for a := range arms {
		for p := range length {
			b.Places = b.Places && b.Positions[a][p] == b.Positions[0][p]
		}
		for c := range arms {
			if a != c {
				b.Neighbours = b.Neighbours && b.Follows[a][c] == b.Follows[0][min(1, arms-1)]
			}
		}
	}
	return b, nil
}
