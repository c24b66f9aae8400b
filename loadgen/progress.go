package loadgen

import "fmt"

// Progress is how far a running window has come, over all its targets, with
// its ramp and warm-up. It is what is left of a window whose process was
// killed.
type Progress struct {
	// AtNanoseconds is the time since the start of the measured part;
	// negative before it.
	AtNanoseconds int64 `json:"at_ns"`
	// Scheduled = Sent + Overflow + Waiting, and
	// Sent = Completed + Failed + InFlight.
	Scheduled int64 `json:"scheduled"`
	Sent      int64 `json:"sent"`
	Overflow  int64 `json:"overflow"`
	Waiting   int64 `json:"waiting"` // in the queue
	Completed int64 `json:"completed"`
	Failed    int64 `json:"failed"`
	InFlight  int64 `json:"in_flight"`
	// Open is connections that are open.
	Open int64 `json:"open"`
}

// Check returns an error that names the identity that does not hold.
func (p Progress) Check() error {
	switch {
	case p.Scheduled != p.Sent+p.Overflow+p.Waiting:
		return fmt.Errorf("loadgen: scheduled %d is not sent %d + overflow %d + waiting %d: the progress cannot be trusted", p.Scheduled, p.Sent, p.Overflow, p.Waiting)
	case p.Sent != p.Completed+p.Failed+p.InFlight:
		return fmt.Errorf("loadgen: sent %d is not completed %d + failed %d + in flight %d: the progress cannot be trusted", p.Sent, p.Completed, p.Failed, p.InFlight)
	}
	return nil
}

func (p *Progress) add(o Progress) {
	p.AtNanoseconds = max(p.AtNanoseconds, o.AtNanoseconds)
	p.Scheduled += o.Scheduled
	p.Sent += o.Sent
	p.Overflow += o.Overflow
	p.Waiting += o.Waiting
	p.Completed += o.Completed
	p.Failed += o.Failed
	p.InFlight += o.InFlight
	p.Open += o.Open
}
