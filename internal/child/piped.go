package child

import (
	"context"
	"errors"
	"os"
)

// StartPiped is Start for a program that is talked to: in leads to its standard
// input, and out is its standard output. Stdin and Stdout of s are not used.
// The caller closes both, in first: a program that reads until its input ends
// then ends too, as it does when this process dies.
func StartPiped(ctx context.Context, s Spec) (p *Process, in, out *os.File, err error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	defer theirIn.Close()
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, errors.Join(err, in.Close())
	}
	defer theirOut.Close()
	s.Stdin, s.Stdout = theirIn, theirOut
	if p, err = Start(ctx, s); err != nil {
		return nil, nil, nil, errors.Join(err, in.Close(), out.Close())
	}
	return p, in, out, nil
}
