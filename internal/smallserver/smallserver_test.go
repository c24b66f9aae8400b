//go:build unix

package smallserver_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tareperf/tare/internal/smallserver"
)

func TestReadyLineThereAndBack(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, smallserver.WriteReady(&out, smallserver.Ready{Server: "a", Address: "127.0.0.1:1", AdminAddress: "127.0.0.1:2"}))
	assert.Equal(t, 1, strings.Count(out.String(), "\n"))
	ready, err := smallserver.ReadReady(&out, "a")
	require.NoError(t, err)
	assert.Equal(t, smallserver.Ready{Server: "a", Pid: os.Getpid(), Address: "127.0.0.1:1", AdminAddress: "127.0.0.1:2"}, ready)
}

func TestReadyLineThatIsNoneIsAnError(t *testing.T) {
	for name, out := range map[string]string{
		"nothing":           "",
		"cut":               `{"server":"a","pid":1`,
		"output of a test":  "=== RUN TestSomething\n",
		"another server":    `{"server":"b","pid":1,"address":"x:1","admin_address":"x:2"}` + "\n",
		"no address":        `{"server":"a","pid":1,"admin_address":"x:2"}` + "\n",
		"no pid":            `{"server":"a","address":"x:1","admin_address":"x:2"}` + "\n",
		"longer than bound": strings.Repeat("x", 1<<20) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := smallserver.ReadReady(strings.NewReader(out), "a")
			assert.Error(t, err)
			assert.Less(t, len(err.Error()), 1000)
		})
	}
	_, err := smallserver.ReadReady(strings.NewReader(`{"server":"a","pid":1,"error":"port taken"}`+"\n"), "a")
	var start *smallserver.StartError
	require.ErrorAs(t, err, &start)
	assert.Equal(t, "port taken", start.Reason)
}

func TestUntilEndsWithStdinAndSignal(t *testing.T) {
	r, w := io.Pipe()
	ctx, release := smallserver.Until(t.Context(), r)
	_, err := w.Write([]byte("ignored"))
	require.NoError(t, err)
	require.NoError(t, ctx.Err())
	require.NoError(t, w.Close())
	<-ctx.Done()
	assert.ErrorIs(t, context.Cause(ctx), smallserver.ErrStdinEnded)
	release()

	r, w = io.Pipe()
	defer w.Close()
	ctx, release = smallserver.Until(t.Context(), r)
	defer release()
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
	<-ctx.Done()
	assert.ErrorIs(t, context.Cause(ctx), smallserver.ErrSignal)
}

func TestAdminAnswersOnlyForItself(t *testing.T) {
	type stats struct {
		Completed uint64 `json:"completed"`
	}
	admin, err := smallserver.ServeAdmin("127.0.0.1:0", "a", func() any { return stats{Completed: 7} }, map[string]int{"workers": 1})
	require.NoError(t, err)
	defer admin.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	ready := smallserver.Ready{Server: "a", Pid: os.Getpid(), AdminAddress: admin.Address()}

	// A proxy setting of the environment must not send the question elsewhere.
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	var got stats
	require.NoError(t, smallserver.Get(ctx, ready, "/stats", &got))
	assert.EqualValues(t, 7, got.Completed)
	var config struct{ Workers int }
	require.NoError(t, smallserver.Get(ctx, ready, "/config", &config))
	assert.Equal(t, 1, config.Workers)

	assert.Error(t, smallserver.Get(ctx, ready, "/nothing", &got))
	var lessKnown struct{}
	assert.ErrorContains(t, smallserver.Get(ctx, ready, "/stats", &lessKnown), "completed")

	var identity *smallserver.IdentityError
	other := ready
	other.Pid++
	require.ErrorAs(t, smallserver.Get(ctx, other, "/stats", &got), &identity)
	assert.Equal(t, os.Getpid(), identity.GotPid)

	require.NoError(t, admin.Close())
	err = smallserver.Get(ctx, ready, "/stats", &got)
	var op *net.OpError
	assert.True(t, errors.As(err, &op), "%v", err)
}

func TestTuneIsWhatItSays(t *testing.T) {
	settings, keep := smallserver.Tune(1)
	assert.NotNil(t, keep)
	assert.Equal(t, 1, settings.Workers)
	assert.Equal(t, 100, settings.GCPercent)
	assert.Equal(t, 16<<20, settings.BallastBytes)
}
