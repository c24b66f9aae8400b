package loadgen

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
)

// The table of streams is a map: with slots that stay for long, others that
// come and go, and ids that run through all of them.
func TestH2IDTable(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, slots := range []int{1, 2, 3, 10, 100} {
		table := newIDTable(slots)
		want := map[uint32]int32{}
		var open []uint32
		id := uint32(1)
		for range 20_000 {
			if len(open) < slots && (len(open) == 0 || random.IntN(2) == 0) {
				slot := int32(random.IntN(1000))
				table.put(id, slot)
				want[id] = slot
				open = append(open, id)
				id += 2
			} else {
				i := random.IntN(len(open))
				if random.IntN(3) > 0 {
					i = len(open) - 1 // so that the first stay
				}
				table.remove(open[i])
				delete(want, open[i])
				open = append(open[:i], open[i+1:]...)
			}
			for _, look := range []uint32{id, id - 2, id - 4, 1, 3} {
				slot, ok := want[look]
				if !ok {
					slot = -1
				}
				require.Equal(t, slot, table.slot(look))
			}
			for _, look := range open {
				require.Equal(t, want[look], table.slot(look))
			}
		}
	}
}

// Whatever part of the output the kernel takes at a time, the same bytes go
// out.
func TestH2OutputInParts(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	play := func(take func(pending int) int) []byte {
		o := testOptions()
		o.body, o.bodies = bytes.Repeat([]byte("body"), 10_000), 1
		c := &h2Codec{}
		c.init(o)
		require.NoError(t, c.set(appendH2Setting(nil, h2SettingInitialWindow, 1<<20)))
		c.sendWindow = 1 << 30
		var out []byte
		for range 100 {
			c.start(0, 0)
			for {
				n := take(len(c.pending()))
				out = append(out, c.pending()[:n]...)
				c.taken(n)
				if c.streams[0].ended {
					break
				}
			}
			c.streams[0].done = true
			c.release(0)
		}
		return append(out, c.pending()...)
	}
	whole := play(func(n int) int { return n })
	require.Equal(t, whole, play(func(n int) int { return random.IntN(n + 1) }))
	require.Equal(t, whole, play(func(n int) int { return min(n, 1+random.IntN(3)) }))
	require.Greater(t, len(whole), 100*40_000)
}

// The head of an answer that nobody waits for any more is decoded all the
// same: it may change the table that later ones refer to.
func TestH2LateHeadKeepsTheTableUp(t *testing.T) {
	p := newH2Pair(t, testOptions())
	slot, stream := p.start()
	p.c.release(slot) // timed out
	require.IsType(t, &http2.RSTStreamFrame{}, p.next())
	p.headers(stream, false, ":status", "299", "content-length", "4321") // two entries
	p.data(stream, true, "late")
	slot, stream = p.start()
	p.headers(stream, true, ":status", "299", "content-length", "4321") // by their indices
	require.Less(t, p.block.Len(), 4)
	require.NoError(t, p.receive())
	require.Equal(t, []h2Event{{kind: h2Malformed, slot: slot}}, p.take(), "no body of 4321 bytes came")
	require.Equal(t, answerFields{status: 299, length: 4321, grpcStatus: -1, regular: true}, p.c.streams[slot].fields)
}
