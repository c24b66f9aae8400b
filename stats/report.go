package stats

import "math"

// Row is one row of a table, with everything its verdict needs.
type Row struct {
	Name string
	// Rounds of this session, in time order.
	Rounds []Round
	// Earlier are the effects of the same row in earlier sessions, all of them.
	Earlier []Effect
	// Spread of the rig between sessions, nil if unknown; Floor of this shape and
	// session, nil if unknown.
	Spread *Spread
	Floor  *Floor
	// The rest is handed to Judge; see VerdictInput.
	EquivalenceBound float64
	Load             *LoadBound
	Bias             *Bias
	Void             string
	Mechanism        string
	SmokeRun         bool
	Release          bool
	Work             bool
}

// TableOptions of Report.
type TableOptions struct {
	// Options of each estimate.
	Options
	// Alpha of the family. Default 0.05, and not more.
	Alpha float64
	// Family is the number of declared rows where it is larger than len(rows).
	// Default: len(rows), or Plan.Rows.
	Family int
	// Plan is the declaration of the family made before measuring. Report refuses
	// what Plan.Check refuses, and rows, alpha or flips that are not the plan's.
	// With Plan.Looks each row is judged at the look of its units; a row with other
	// units, or with more than Plan.Units, was looked at when no look was planned.
	// Default nil: no plan is checked.
	Plan *FamilyPlan
}

// family gives the number of rows and alpha, from the plan where there is one.
func (o TableOptions) family(rows int) (m int, alpha float64, err error) {
	if alpha, err = settleVerdictAlpha(o.Alpha); err != nil {
		return 0, 0, err
	}
	m = rows
	if p := o.Plan; p != nil {
		if err := p.Check(); err != nil {
			return 0, 0, err
		}
		planned, err := settleVerdictAlpha(p.Alpha)
		if err != nil {
			return 0, 0, err
		}
		if o.Alpha != 0 && alpha != planned {
			return 0, 0, &OptionError{"Alpha", o.Alpha, "0, or the plan's"}
		}
		if o.Family != 0 && o.Family != p.Rows {
			return 0, 0, &OptionError{"Family", o.Family, "0, or the plan's rows"}
		}
		if p.Rows < rows {
			return 0, 0, &OptionError{"Plan.Rows", p.Rows, "at least the number of rows"}
		}
		mine, err := Options{Flips: o.Flips}.settle()
		if err != nil {
			return 0, 0, err
		}
		if its, err := (Options{Flips: p.Flips}).settle(); err != nil || its.flips != mine.flips {
			return 0, 0, &OptionError{"Flips", o.Flips, "the plan's"}
		}
		return p.Rows, planned, nil
	}
	if o.Family != 0 {
		if o.Family < m {
			return 0, 0, &OptionError{"Family", o.Family, "at least the number of rows"}
		}
		m = o.Family
	}
	if m > 1_000_000 {
		return 0, 0, &OptionError{"Family", m, "up to 1000000 rows"}
	}
	return m, alpha, nil
}

// look is the look of the plan that a row with so many units is judged at.
func (o TableOptions) look(units int) *Look {
	p := o.Plan
	if p == nil {
		return nil
	}
	if p.Looks != nil {
		l := p.Looks.Look(units)
		return &l
	}
	if units > p.Units { // more was measured than planned: by whom, and why?
		return &Look{Rounds: units, P: 1}
	}
	return nil
}

// RowResult is a row with its numbers.
type RowResult struct {
	Name string `json:"name"`
	// Estimate of this session; Err says why there is none, Problem is its text.
	Estimate Estimate `json:"estimate"`
	Err      error    `json:"-"`
	Problem  string   `json:"problem"`
	// Look is the look of the plan that the row was judged at; nil without one.
	Look *Look `json:"look"`
	// Session is this session's effect, Best the one with the between-session
	// spread where that is known (widened, or across sessions); nil on failed rows.
	Session *Effect `json:"session"`
	Best    *Effect `json:"best"`
	// P of Best, alone and within the family; PName says whether it knows the
	// between-session spread. Simultaneous is Best's interval within the family.
	P            AdjustedP `json:"p"`
	PName        string    `json:"p_name"`
	Simultaneous *Interval `json:"simultaneous"`
	Verdict      Verdict   `json:"verdict"`
}

// Report makes a table from the rows of one declared family: estimates, Holm p
// and simultaneous intervals, verdicts. Rows that fail keep their place in the
// family and are Invalid. A row with fewer units than a plan without looks has is
// judged as it is: gates may have taken some. See FamilyPlan, FromRounds, AcrossSessions, Holm, Simultaneous, Judge.
func Report(rows []Row, o TableOptions) ([]RowResult, error) {
	if len(rows) == 0 {
		return nil, notTestable("report", "there are no rows")
	}
	m, alpha, err := o.family(len(rows))
	if err != nil {
		return nil, err
	}
	if _, err := o.Options.settle(); err != nil {
		return nil, err
	}
	out := make([]RowResult, len(rows))
	p := make([]float64, m)
	for i := range p {
		p[i] = math.NaN() // a row without a p has failed and keeps its place
	}
	widened := make([]*Effect, len(rows))
	var warnings = make([][]Warning, len(rows))
	for i, r := range rows {
		out[i].Name = r.Name
		fail := func(err error) { out[i].Err, out[i].Problem = err, err.Error() }
		e, err := FromRounds(r.Rounds, o.Options)
		out[i].Estimate = e
		if err != nil {
			fail(err)
			continue
		}
		session := e.Effect()
		out[i].Session = &session
		out[i].Look = o.look(e.Units)
		best, w, err := AcrossSessions(append(append([]Effect(nil), r.Earlier...), session), r.Spread)
		if err != nil {
			fail(err)
			continue
		}
		warnings[i] = append(append(warnings[i], e.Warnings...), w...)
		if best.Between && best.Sessions == 1 {
			widened[i] = &best
		}
		out[i].Best, out[i].PName = &best, "this session only"
		if best.Between {
			out[i].PName = "with between-session spread"
		}
		if r.Void == "" && r.Mechanism == "" && !r.SmokeRun {
			p[i] = best.p()
		}
		level := 1 - alpha
		if l := out[i].Look; l != nil && l.Planned {
			level = 1 - l.Alpha
		}
		if s, err := Simultaneous(best, m, level); err == nil {
			out[i].Simultaneous = &s
		}
	}
	holm, err := Holm(p, alpha)
	if err != nil {
		return nil, err
	}
	for i, r := range rows {
		out[i].P = holm[i]
		if l := out[i].Look; l != nil {
			l.P = holm[i].Adjusted
			l.Reject = !holm[i].Failed && l.Planned && l.P <= l.Alpha
			out[i].P.Reject = l.Reject
		}
		in := VerdictInput{
			Widened: widened[i], Floor: r.Floor, Family: m, Alpha: alpha, Look: out[i].Look, Bias: r.Bias, EquivalenceBound: r.EquivalenceBound,
			Load: r.Load, Warnings: warnings[i], Void: r.Void, Mechanism: r.Mechanism, SmokeRun: r.SmokeRun, Release: r.Release, Work: r.Work,
		}
		if !holm[i].Failed {
			in.AdjustedP = &holm[i].Adjusted
		}
		if out[i].Problem != "" && in.Void == "" {
			in.Void = out[i].Problem
		}
		if b := out[i].Best; b != nil {
			in.Effect = *b
			if b.Sessions == 1 {
				in.Effect = *out[i].Session
			}
		}
		out[i].Verdict = Judge(in)
		if out[i].Verdict.Clause == ClauseVoid && r.Void == "" {
			out[i].Verdict.Err = out[i].Err
		}
	}
	return out, nil
}
