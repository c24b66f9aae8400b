package child

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOutput(t *testing.T) {
	shell := func(script string) Spec {
		return Spec{Name: "sh", Path: "/bin/sh", Args: []string{"-c", script}}
	}
	text, err := Output(context.Background(), shell("echo out; echo err >&2"), 1<<10)
	require.NoError(t, err)
	require.Equal(t, "out\nerr\n", text)

	text, err = Output(context.Background(), shell("echo out; exit 3"), 2)
	var exit *ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, 3, exit.Code)
	require.Equal(t, "ou", text)

	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err = Output(ctx, shell("exec sleep 60"), 1)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
