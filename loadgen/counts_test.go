package loadgen

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// A class that is added to Failures must not be forgotten where they are
// listed: each has its JSON name and its own value.
func TestFailuresByClass(t *testing.T) {
	var f Failures
	v := reflect.ValueOf(&f).Elem()
	for i := range v.NumField() {
		v.Field(i).SetInt(int64(i + 1))
	}
	text, err := json.Marshal(f)
	require.NoError(t, err)
	var want map[string]int64
	require.NoError(t, json.Unmarshal(text, &want))
	require.Equal(t, want, f.ByClass())
	require.Empty(t, Failures{}.ByClass())
}
