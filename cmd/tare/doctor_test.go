package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tareperf/tare/internal/doctor"
)

func TestDoctor(t *testing.T) {
	var out, errs bytes.Buffer
	status := run([]string{"doctor", "--json"}, streams{out: &out, err: &errs})
	var r doctor.Report
	require.NoError(t, json.Unmarshal(out.Bytes(), &r), "%s%s", &out, &errs)
	require.Equal(t, r.Exit, status)
	require.NotEmpty(t, r.Facts)

	out.Reset()
	require.Equal(t, status, run([]string{"doctor"}, streams{out: &out, err: &errs}))
	require.Contains(t, out.String(), "This machine "+string(r.Verdict)+".")

	require.Equal(t, exitUsage, run([]string{"doctor", "now"}, streams{out: &out, err: &errs}))
	require.Contains(t, errs.String(), "takes no argument")
}
