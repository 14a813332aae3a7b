package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"plimsoll/load/measure"
)

// reportWindows is a windows.hdr of one second with 42 names, of about 8.6 KB, as an agent reports
// it.
func reportWindows(t testing.TB) []byte {
	t.Helper()
	rng := rand.New(rand.NewPCG(21, 4))
	var ws []*measure.Window
	for i := range 42 {
		w := measure.NewWindow(fmt.Sprint("operation-", i))
		for range 9 {
			for _, h := range []*measure.Histogram{w.Response, w.Service, w.Wait, w.Lag} {
				h.Record(time.Duration(math.Exp(13 + 2*rng.NormFloat64())))
			}
			w.Classes[measure.OK]++
		}
		ws = append(ws, w)
	}
	var b bytes.Buffer
	w, err := NewWindowWriter(&b)
	if err == nil {
		err = w.Write(0, ws)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// readFresh is readWindows in memory that no frame shares.
func readFresh(
	r io.Reader,
	fn func(second int, windows []*measure.Window) bool,
) (truncated bool, err error) {
	return readWindows(r, func(int) *measure.Window { return measure.NewWindow("") }, fn)
}

// readAndMerge decodes a windows.hdr and merges what it holds.
func readAndMerge(b []byte, into *measure.Registry) error {
	truncated, err := readFresh(bytes.NewReader(b), func(_ int, ws []*measure.Window) bool {
		into.Merge(ws)
		return true
	})
	if err == nil && truncated {
		err = ErrWindows
	}
	return err
}

func TestMergeWindows(t *testing.T) {
	b := reportWindows(t)
	want, got := measure.NewRegistry(1), measure.NewRegistry(1)
	for range 3 {
		if err := errors.Join(readAndMerge(b, want), MergeWindows(b, got)); err != nil {
			t.Fatal(err)
		}
	}
	encode := func(ws []*measure.Window) (b []byte) {
		for _, w := range ws {
			b = w.AppendBinary(b)
		}
		return b
	}
	if a, b := encode(want.Cut()), encode(got.Cut()); len(a) == 0 || !bytes.Equal(a, b) {
		t.Fatalf("%d bytes merged in the encoded form differ from %d decoded ones", len(b), len(a))
	}
	for n := range b {
		if err := MergeWindows(b[:n], got); !errors.Is(err, ErrWindows) {
			t.Fatalf("%d of %d bytes: %v", n, len(b), err)
		}
		bad := bytes.Clone(b)
		bad[n] ^= 0x11
		if err := MergeWindows(bad, got); !errors.Is(err, ErrWindows) {
			t.Fatalf("byte %d changed: %v", n, err)
		}
	}
	if err := MergeWindows(append(bytes.Clone(b), 0), got); !errors.Is(err, ErrWindows) {
		t.Fatalf("a byte more: %v", err)
	}
	if left := got.Cut(); len(left) != 0 {
		t.Fatalf("%d windows of refused reports were merged", len(left))
	}
}

func TestMergeWindowsAllocatesNothing(t *testing.T) {
	b, r := reportWindows(t), measure.NewRegistry(1)
	if a := testing.AllocsPerRun(100, func() {
		if err := MergeWindows(b, r); err != nil {
			t.Fatal(err)
		}
	}); a != 0 {
		t.Fatalf("%v allocations for a report whose names are known, budget 0", a)
	}
}

func BenchmarkMergeWindows(b *testing.B) {
	report := reportWindows(b)
	for _, way := range []struct {
		name  string
		merge func([]byte, *measure.Registry) error
	}{{"decoded", readAndMerge}, {"encoded", MergeWindows}} {
		b.Run(way.name, func(b *testing.B) {
			r := measure.NewRegistry(1)
			b.ReportAllocs()
			b.SetBytes(int64(len(report)))
			for b.Loop() {
				if err := way.merge(report, r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
