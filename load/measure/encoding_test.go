package measure

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// randomWindows are up to n windows of few names, some twice, with values out of range and empty
// histograms.
func randomWindows(rng *rand.Rand, n int) []*Window {
	var ws []*Window
	for range rng.IntN(n + 1) {
		w := NewWindow(fmt.Sprint("op", rng.IntN(n)))
		for i := range w.Classes {
			w.Classes[i] = rng.Uint64N(1 << rng.IntN(30))
		}
		w.Bytes = rng.Int64N(1 << 40)
		for _, h := range w.histograms() {
			for range rng.IntN(3) * rng.IntN(60) {
				h.RecordN(
					time.Duration(math.Exp(28*rng.Float64()))-5,
					uint32(rng.IntN(1<<rng.IntN(20))),
				)
			}
		}
		ws = append(ws, w)
	}
	return ws
}

func encodeWindows(ws []*Window) (b []byte) {
	for _, w := range ws {
		b = w.AppendBinary(b)
	}
	return b
}

func decodeWindows(t testing.TB, b []byte, n int) (ws []*Window) {
	t.Helper()
	for range n {
		w := NewWindow("")
		var err error
		if b, err = w.Decode(b); err != nil {
			t.Fatal(err)
		}
		ws = append(ws, w)
	}
	return ws
}

// Merging what is encoded equals decoding and merging it.
func TestMergeBinaryIsMerge(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 1))
	merged := 0
	for i := range 100 {
		want, got := NewRegistry(1), NewRegistry(1)
		for _, r := range []*Registry{want, got} { // a name that is recorded here too
			r.Recorder(0).Record(r.Name("op1"), &Op{
				Due:       1,
				Sent:      2,
				Done:      time.Duration(i),
				Scheduled: true,
			})
		}
		for range 1 + rng.IntN(4) {
			ws := randomWindows(rng, 5)
			b := encodeWindows(ws)
			want.Merge(decodeWindows(t, b, len(ws)))
			if err := got.MergeBinary(b, len(ws)); err != nil {
				t.Fatal(err)
			}
			merged += len(ws)
		}
		same(t, got.Cut(), want.Cut())
	}
	if merged < 100 {
		t.Fatalf("%d windows were merged", merged)
	}
}

// What is cut short, or has a changed byte, is refused and leaves nothing, or is another valid
// encoding, which is merged as it decodes.
func TestMergeBinaryIsAllOrNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 2))
	refused := 0
	for range 20 {
		ws := append(randomWindows(rng, 3), NewWindow("last"))
		b := encodeWindows(ws)
		r := NewRegistry(1)
		for range 50 {
			if err := r.MergeBinary(b[:rng.IntN(len(b))], len(ws)); err == nil {
				t.Fatal("cut short, and no error")
			}
		}
		for _, n := range []int{len(ws) - 1, len(ws) + 1} {
			if err := r.MergeBinary(b, n); err == nil {
				t.Fatalf("%d windows taken for %d", len(ws), n)
			}
		}
		if left := r.Cut(); len(left) != 0 {
			t.Fatalf("%d windows of refused reports were merged", len(left))
		}
		for range 50 {
			bad := bytes.Clone(b)
			bad[rng.IntN(len(bad))] ^= byte(1 + rng.IntN(255))
			if r.MergeBinary(bad, len(ws)) != nil {
				refused++
				if left := r.Cut(); len(left) != 0 {
					t.Fatalf("%d windows of a refused report were merged", len(left))
				}
				continue
			}
			want := NewRegistry(1)
			want.Merge(decodeWindows(t, bad, len(ws)))
			same(t, r.Cut(), want.Cut())
		}
	}
	if refused < 100 {
		t.Fatalf("%d changed reports were refused", refused)
	}
}

// An empty histogram may have its zero in two bytes. It moves no minimum.
func TestMergeBinaryOfALongZero(t *testing.T) {
	var h Histogram
	h.Record(time.Second)
	rest, err := h.mergeBinary([]byte{0x80, 0, 7})
	if err != nil || len(rest) != 1 || h.Min() != time.Second || h.Count() != 1 {
		t.Fatal(rest, err, h.Min(), h.Count())
	}
}

func TestMergeBinaryAllocatesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 3))
	ws := append(randomWindows(rng, 20), NewWindow("last"))
	b := encodeWindows(ws)
	r := NewRegistry(1)
	if a := testing.AllocsPerRun(100, func() {
		if err := r.MergeBinary(b, len(ws)); err != nil {
			t.Fatal(err)
		}
	}); a != 0 {
		t.Fatalf("%v allocations for a report whose names are known, budget 0", a)
	}
}
