package abtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tareperf/tare/loadgen"
	"github.com/tareperf/tare/pinning"
)

const helperGrace = 3 * time.Second

// generator is the load generator in its process.
type generator struct {
	*helper
	remote *loadgen.Remote
}

func (s *session) startGenerator(ctx context.Context) (*generator, error) {
	h, err := startHelper(ctx, helperSpec{
		helper: helperGenerator, name: "generator", dir: s.dir, ledger: s.ledger,
		hold: func(pid int) error { return s.placed.Place(pinning.RoleGenerator, pid) },
	})
	if err != nil {
		return nil, fmt.Errorf("start the load generator: %w", err)
	}
	return &generator{helper: h, remote: loadgen.NewRemote(h.in, h.out)}, nil
}

// open connects to the live arms, in their order.
func (g *generator) open(ctx context.Context, spec loadgen.Spec, live []*liveArm) error {
	targets := make([]loadgen.Target, len(live))
	for i, l := range live {
		targets[i] = loadgen.Target{Name: l.arm.Name, Address: l.proxy.Address()}
	}
	if err := g.remote.Open(ctx, spec, targets); err != nil {
		return err
	}
	return g.remote.Connect(ctx)
}

// run loads some targets, from no request in flight to none.
func (g *generator) run(ctx context.Context, targets []int, rate float64, d time.Duration, seed uint64, drain time.Duration) (loadgen.Report, error) {
	r, err := g.remote.Run(ctx, loadgen.Window{Targets: targets, Rate: rate, Duration: d, Seed: seed, Drain: drain})
	if err == nil && r.Interrupted {
		err = context.Cause(ctx)
	}
	return r, errors.Join(err, r.Check())
}

func (g *generator) stop() error {
	if g == nil {
		return nil
	}
	return g.helper.Stop(helperGrace)
}
