package child

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStartPiped(t *testing.T) {
	p, in, out, err := StartPiped(context.Background(), Spec{Name: "cat", Path: "/bin/cat"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Stop(0)) })
	require.NoError(t, p.Release())
	_, err = io.WriteString(in, "there and back")
	require.NoError(t, err)
	require.NoError(t, in.Close())
	got, err := io.ReadAll(out) // ends only if nobody else holds the other ends
	require.NoError(t, err)
	require.Equal(t, "there and back", string(got))
	require.NoError(t, out.Close())
	select {
	case <-p.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("it did not end with its input")
	}
	require.NoError(t, p.ExitError())

	_, _, _, err = StartPiped(context.Background(), Spec{Path: "/nowhere"})
	require.Error(t, err)
}
