package loadgen

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2/hpack"
)

// project is what the generator's decoder should make of a block that x/net
// has decoded.
func project(fields []hpack.HeaderField) answerFields {
	f := answerFields{length: -1, grpcStatus: -1}
	number := func(s string, digits int) int64 {
		n, err := strconv.ParseUint(s, 10, 63)
		if err != nil || len(s) > 18 || digits > 0 && len(s) != digits || strings.ContainsAny(s, "+_") {
			return -1
		}
		return int64(n)
	}
	for _, h := range fields {
		switch {
		case h.Name == ":status":
			n := number(h.Value, 3)
			f.malformed = f.malformed || f.regular || f.status != 0 || n < 100 || n > 599
			f.status = int(n)
			continue
		case h.Name == "content-length":
			n := number(h.Value, 0)
			f.malformed = f.malformed || n < 0 || f.length >= 0 && f.length != n
			f.length = n
		case h.Name == "grpc-status":
			n := number(h.Value, 0)
			if n < 0 || n >= 1<<30 || f.grpcStatus != -1 && int64(f.grpcStatus) != n {
				n = -2
			}
			f.grpcStatus = int32(n)
		case len(h.Name) <= 1024 && fieldKindOf([]byte(h.Name)) == fieldBad:
			f.malformed = true
		}
		f.regular = true
	}
	return f
}

// oracle decodes blocks of one connection with x/net.
type oracle struct {
	d      *hpack.Decoder
	fields []hpack.HeaderField
}

func newOracle(limit int) *oracle {
	o := &oracle{}
	o.d = hpack.NewDecoder(h2DefaultTable, func(f hpack.HeaderField) { o.fields = append(o.fields, f) })
	o.d.SetAllowedMaxDynamicTableSize(uint32(max(limit, h2DefaultTable)))
	return o
}

func (o *oracle) decode(block []byte) ([]hpack.HeaderField, error) {
	o.fields = nil
	if _, err := o.d.Write(block); err != nil {
		return nil, err
	}
	return o.fields, o.d.Close()
}

// tooStrict: x/net refuses the second of two changes of the table's size
// where RFC 7541, section 4.2, asks for two and the first left an entry.
func tooStrict(err error) bool {
	return err != nil && strings.Contains(err.Error(), "MUST occur at the beginning")
}

// The same answer fields as x/net decodes, over connections with tables of
// changing size, from an encoder that uses them.
func TestHPACKAgainstXNet(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := func(n int) string {
		b := make([]byte, random.IntN(n))
		for i := range b {
			b[i] = byte(random.IntN(256))
			if random.IntN(4) > 0 {
				b[i] = "abcdefghijklmnopqrstuvwxyz0123456789-"[random.IntN(37)]
			}
		}
		return string(b)
	}
rounds:
	for round := range 300 {
		limit := []int{0, 4096, 65536}[round%3]
		d := newHPACKDecoder(limit)
		o := newOracle(limit)
		var block bytes.Buffer
		e := hpack.NewEncoder(&block)
		e.SetMaxDynamicTableSizeLimit(uint32(max(limit, h2DefaultTable)))
		names := []string{":status", "content-length", "grpc-status", "server", "date", "Upper", "connection", ":path", "x-" + text(20), text(100)}
		for range 60 {
			block.Reset()
			if random.IntN(8) == 0 {
				e.SetMaxDynamicTableSize(uint32(random.IntN(max(limit, h2DefaultTable) + 1)))
			}
			for range random.IntN(12) {
				f := hpack.HeaderField{Name: names[random.IntN(len(names))], Value: text(60), Sensitive: random.IntN(10) == 0}
				if random.IntN(2) == 0 {
					f.Value = []string{"200", "204", "0", "7", "12345", "999", "20a"}[random.IntN(7)]
				}
				require.NoError(t, e.WriteField(f))
			}
			for range 1 + random.IntN(2) { // the same block again is another one to the table
				want, wantErr := o.decode(block.Bytes())
				got, err := d.decode(block.Bytes())
				if tooStrict(wantErr) {
					continue rounds
				}
				if wantErr != nil { // a block that came twice has moved the indices
					require.NotNil(t, err)
					continue rounds
				}
				require.Nil(t, err)
				require.Equal(t, project(want), got, "%v", want)
			}
			if _, err := d.decode([]byte{0xff, 0xff}); err == nil {
				t.Fatal("half an integer was taken for a block")
			}
		}
	}
}

func TestHuffmanAgainstXNet(t *testing.T) {
	table := huffman()
	var out [4096]byte
	var all []byte
	for c := range 256 {
		all = append(all, byte(c))
		in := bytes.Repeat([]byte{byte(c)}, 9)
		n, ok := table.decode(out[:], hpack.AppendHuffmanString(nil, string(in)))
		require.True(t, ok)
		require.Equal(t, in, out[:n])
	}
	coded := hpack.AppendHuffmanString(nil, string(all))
	n, ok := table.decode(out[:], coded)
	require.True(t, ok)
	require.Equal(t, all, out[:n])
	n, ok = table.decode(out[:3], coded)
	require.True(t, ok)
	require.Equal(t, 256, n)
	for _, bad := range []string{"\xff", "\xff\xff\xff\xff", "\x00\xff", "\xff\xff\xff\xfc", "\x1e"} {
		_, want := hpack.HuffmanDecodeToString([]byte(bad))
		_, ok := table.decode(out[:], []byte(bad))
		require.Equal(t, want == nil, ok, "%x", bad)
	}
}

// FuzzHPACK: blocks of any bytes, several on one table, decode as in x/net
// or are refused by both.
func FuzzHPACK(f *testing.F) {
	for _, s := range []string{"\x88", "\x3f\xe1\x1f\x88", "\x20\x40\x01a\x01b\xbe", "\x48\x82\x64\x02\x58\x85\xae\xc3\x77\x1a\x4b\xbf", "\x5c\x0213\xbe\x0f\x0d\x0213"} {
		f.Add([]byte(s), []byte(s), []byte("\xbe\xbf\xc0"), false)
	}
	f.Fuzz(func(t *testing.T, a, b, c []byte, large bool) {
		limit := h2DefaultTable
		if large {
			limit = 65536
		}
		d := newHPACKDecoder(limit)
		o := newOracle(limit)
		for _, block := range [][]byte{a, b, b, c} {
			want, wantErr := o.decode(block)
			got, err := d.decode(block)
			if tooStrict(wantErr) || err == errH2LateResize { // which x/net takes while its table is empty
				return
			}
			if (wantErr != nil) != (err != nil) {
				t.Fatalf("block %x: x/net %v, here %v", block, wantErr, err)
			}
			if err != nil {
				return
			}
			if p := project(want); p != got {
				t.Fatalf("block %x: x/net %+v, here %+v", block, p, got)
			}
		}
	})
}

// FuzzHuffman: any bytes decode as in x/net.
func FuzzHuffman(f *testing.F) {
	f.Add([]byte("\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff"))
	f.Fuzz(func(t *testing.T, in []byte) {
		want, wantErr := hpack.HuffmanDecodeToString(in)
		out := make([]byte, 2*len(in)+8)
		n, ok := huffman().decode(out, in)
		if ok != (wantErr == nil) || ok && want != string(out[:n]) {
			t.Fatalf("%x: x/net %q %v, here %q %v", in, want, wantErr, out[:min(n, len(out))], ok)
		}
	})
}

// What the encoder makes decodes to the same fields at each request, its
// table stays within its size, and from the second request on the bytes are
// the same.
func TestRequestEncoder(t *testing.T) {
	long := strings.Repeat("x", 3000)
	fields := []hpack.HeaderField{
		{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "http"},
		{Name: ":authority", Value: "127.0.0.1:8080"}, {Name: ":path", Value: "/4k"},
		{Name: "accept", Value: "*/*"}, {Name: "x-long", Value: long}, {Name: "x-long", Value: long}, {Name: "x-longer", Value: long + "y"},
	}
	for i := range 40 {
		fields = append(fields, hpack.HeaderField{Name: fmt.Sprintf("x-header-%d", i), Value: strings.Repeat("v", 50+i)})
	}
	other := append(append([]hpack.HeaderField{}, fields[:4]...), hpack.HeaderField{Name: "x-other", Value: "1"}, fields[20], fields[5])
	sets := [][]hpack.HeaderField{fields, other}
	for _, size := range []int{0, 100, 4096, 65536} {
		for _, order := range [][]int{{0, 0, 0, 1, 1, 0}, {1, 0, 1, 0}} {
			var e fieldEncoder
			o := newOracle(65536)
			bytes := map[int][]int{}
			resize := size > h2DefaultTable
			for range 3 {
				e.reset(planFields(sets, size), resize)
				for _, set := range order {
					block := e.encode(nil, set)
					got, err := o.decode(block)
					require.NoError(t, err)
					require.Equal(t, sets[set], got)
					bytes[set] = append(bytes[set], len(block))
				}
				resize = true
			}
			t.Logf("table %d, lists %v: bytes %v", size, order, bytes)
			last := len(order)/2 - 1
			require.Equal(t, bytes[0][last], bytes[0][1], "the second request of a list is like all after it")
		}
	}
	var e fieldEncoder
	e.reset(planFields(sets, 0), true)
	require.Equal(t, byte(0x20), e.encode(nil, 0)[0])
}

func BenchmarkHPACKDecode(b *testing.B) {
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	for _, dynamic := range []bool{false, true} {
		b.Run(fmt.Sprintf("dynamic=%v", dynamic), func(b *testing.B) {
			block.Reset()
			for _, f := range []hpack.HeaderField{{Name: ":status", Value: "200"}, {Name: "server", Value: "nginx/1.22.1"},
				{Name: "date", Value: "Mon, 30 Nov 2026 23:44:15 GMT"}, {Name: "content-type", Value: "application/octet-stream"}, {Name: "content-length", Value: "4096"}} {
				f.Sensitive = !dynamic
				require.NoError(b, e.WriteField(f))
			}
			d := newHPACKDecoder(4096)
			b.ReportAllocs()
			for b.Loop() {
				d.lastBlock = d.lastBlock[:0]
				if _, err := d.decode(block.Bytes()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
