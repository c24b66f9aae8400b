package main

import (
	"context"
	"fmt"

	"github.com/tareperf/tare/loadgen"
)

// searchResult is what --search found.
type searchResult struct {
	// Rate is the highest rate that was as asked; 0 = none was. Failed is the
	// lowest that was not; 0 = every rate was.
	Rate   float64       `json:"rate"`
	Failed float64       `json:"failed"`
	Trials []searchTrial `json:"trials"`
	// Stopped is why the search ended before it was sure.
	Stopped string `json:"stopped,omitempty"`
}

type searchTrial struct {
	Rate     float64  `json:"rate"`
	Passed   bool     `json:"passed"`
	Problems []string `json:"problems"`
}

// runSearch looks for the highest rate that is as asked. The result is that
// of the last window at this rate.
func (o loadOptions) runSearch(ctx context.Context, p *process, s streams) (*loadResult, error) {
	last := map[float64]*loadResult{}
	found := &searchResult{}
	var latest *loadResult
	r, err := o.search.Run(ctx, func(ctx context.Context, rate float64) (bool, error) {
		w := o.window
		w.Rate = rate
		res, err := o.window1(ctx, p, w, s)
		if err != nil {
			return false, err
		}
		latest, last[rate] = res, res
		if res.Interrupted {
			return false, context.Canceled
		}
		found.Trials = append(found.Trials, searchTrial{rate, res.AsAsked, res.Problems})
		if !o.json {
			fmt.Fprintf(s.err, "%12.6g a second: %s\n", rate, verdict(res))
		}
		return res.AsAsked, nil
	})
	if latest == nil {
		return nil, err
	}
	found.Rate, found.Failed = r.Rate, r.Failed
	if err != nil && !latest.Interrupted {
		found.Stopped = err.Error()
	}
	res := latest
	if at, ok := last[r.Rate]; ok && !latest.Interrupted {
		res = at
	}
	res.Search = found
	switch {
	case res.Interrupted:
	case r.Rate == 0:
		res.problem("no rate was as asked")
		res.Exit, res.AsAsked = exitNotAsAsked, false
	case err != nil:
		res.problem("the search was stopped: %v", err)
		res.Exit, res.AsAsked = exitNotAsAsked, false
	}
	return res, nil
}

func verdict(res *loadResult) string {
	if res.AsAsked {
		return "as asked"
	}
	return fmt.Sprint(res.Problems)
}

// searchDefaults fills in what a search begins with.
func (o *loadOptions) searchFrom(search bool, high, tolerance float64) error {
	if !search {
		if high != 0 || tolerance != 0 {
			return wrongUse("--search-high and --search-tolerance need --search")
		}
		return nil
	}
	if o.window.Rate == 0 {
		return wrongUse("--search needs --rate, the rate to begin with")
	}
	o.search = loadgen.Search{Low: o.window.Rate, High: high, Tolerance: tolerance}
	return nil
}
