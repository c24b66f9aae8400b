package stats

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDiscardChecks(t *testing.T) {
	// R: fisher.test(matrix(c(3,1,1,3),2)) = .4857143 (the tea tasting).
	p, err := FisherExact(3, 1, 1, 3)
	require.NoError(t, err)
	near(t, 34.0/70, p, nine)
	p, err = FisherExact(0, 12, 6, 6)
	require.NoError(t, err)
	near(t, .0137299771, p, 1e-8) // 2·C(12,6)/C(24,6)
	without := Effect{Value: 2, SE: .2, DF: 11}
	d, err := CheckDiscards([]ArmRounds{{"off", 12, 1}, {"on", 12, 1}}, without, &Effect{Value: 2.1, SE: .25, DF: 13})
	require.NoError(t, err)
	require.False(t, d.Void)
	require.Equal(t, 1.0, d.P)
	d, err = CheckDiscards([]ArmRounds{{"off", 12, 0}, {"on", 6, 6}}, without, nil)
	require.NoError(t, err)
	require.True(t, d.Void)
	require.Contains(t, d.Reason, "selection")
	d, err = CheckDiscards([]ArmRounds{{"off", 12, 1}, {"on", 12, 1}}, without, &Effect{Value: .3, SE: .4, DF: 13})
	require.NoError(t, err)
	require.True(t, d.Void)
	require.Contains(t, d.Reason, "gates decided")
}

func TestDiscardsAreTheRowsOwn(t *testing.T) {
	without := Effect{Value: 2, SE: .2, DF: 11}
	// One of many rows: the same p, whatever else was measured.
	d, err := CheckDiscards([]ArmRounds{{"off", 12, 0}, {"a", 8, 5}}, without, nil)
	require.NoError(t, err)
	p, err := FisherExact(0, 12, 5, 8)
	require.NoError(t, err)
	near(t, p, d.P, nine)
	require.True(t, d.Void)
	_, err = CheckDiscards([]ArmRounds{{"off", 12, 0}, {"a", 12, 0}, {"b", 6, 6}}, without, nil)
	refused(t, err, "3 arms")
	_, err = CheckDiscards([]ArmRounds{{"off", 12, 0}}, without, nil)
	refused(t, err, "1 arms")
	d, err = CheckDiscards([]ArmRounds{{"off", 12, 1}, {"on", 12, 1}}, without, &Effect{Value: 3, SE: .2, DF: 13})
	require.NoError(t, err)
	require.True(t, d.Void, "both exclude zero, and still they disagree")
}
