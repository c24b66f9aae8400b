package stats

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSimultaneousQuantiles(t *testing.T) {
	e := Effect{Value: 0, SE: 1, DF: 11, Sessions: 1}
	for m, want := range map[int]float64{1: 2.200985160082949, 9: 3.4368, 15: 3.7283} {
		i, err := Simultaneous(e, m, 0)
		require.NoError(t, err)
		near(t, want, i.High, 2e-5)
	}
}
