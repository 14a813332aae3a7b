package fleet

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"plimsoll/load/measure"
)

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestHostileReplyTakesNoMemory reads replies of an agent that knows a token and wants to end its
// coordinator: each is an error, and takes no more memory than its own bytes, several times.
func TestHostileReplyTakesNoMemory(t *testing.T) {
	const report = `{"report":{"packs":[67108864,67108864,67108864]}}`
	for name, line := range map[string]string{
		"packs of three":   `{"report":{"packs":[67108864,1,0]}}`,
		"packs of many":    `{"parts":[` + strings.Repeat(report+",", 1000) + report + `]}`,
		"a negative pack":  `{"report":{"packs":[1,-1,0]}}`,
		"empty parts":      `{"parts":[` + strings.Repeat(`{},`, mostObjects) + `{}]}`,
		"empty reports":    `{"parts":[` + strings.Repeat(`{"report":{}},`, mostObjects/2) + `{}]}`,
		"numbers":          `{"pids":[` + strings.Repeat(`0,`, mostCommas+1) + `0]}`,
		"lists of nothing": `{"report":{"deleted":[` + strings.Repeat(`[],`, mostObjects) + `[]]}}`,
	} {
		var err error
		took := allocated(func() {
			err = newReplyReader(strings.NewReader(line + "\n")).read(new(reply))
		})
		if most := uint64(8*len(line) + 1<<20); err == nil || errors.Is(err, io.EOF) ||
			took > most {
			t.Errorf(
				"%s, %d bytes: %v; %d bytes allocated, want at most %d",
				name,
				len(line),
				err,
				took,
				most,
			)
		}
	}
}

// TestHostileWindowsTakeNoMemory merges packs with ever more names, in one second and in many.
func TestHostileWindowsTakeNoMemory(t *testing.T) {
	named := func(k, n int) pack {
		var ws []*measure.Window
		for i := range n {
			w := measure.NewWindow(fmt.Sprint(k, " ", i))
			w.Response.Record(time.Hour)
			ws = append(ws, w)
		}
		ps, err := packWindows(ws)
		must(t, err)
		return ps.Windows
	}
	half, many := named(1, measure.MaxMerged/2), named(3, measure.MaxMerged+1)
	into := measure.NewRegistry(1)
	for _, p := range []struct {
		pack
		ok bool
	}{{half, true}, {half, true}, {named(2, measure.MaxMerged/2), true}, {named(3, 1), false}, {many, false}} {
		var err error
		took := allocated(func() { err = p.merge(into) })
		if (err == nil) != p.ok || err != nil && took > 4<<20 {
			t.Errorf("%d bytes of windows: %d bytes allocated, %v", len(p.pack), took, err)
		}
		into.Cut()
	}
}

// TestForeignTextIsCut reads the texts of an agent: those that people read are short, and few.
func TestForeignTextIsCut(t *testing.T) {
	long := foreign(strings.Repeat("x", 1<<20))
	p := reply{
		Error:  long,
		Panic:  &panicked{Where: long, Value: long, Stack: long},
		Report: new(report),
	}
	for range 3 * mostErrors {
		p.Report.Errors = append(p.Report.Errors, userError{
			Text:  long[:5000],
			Panic: &panicked{Stack: long[:20_000]},
		})
	}
	var b strings.Builder
	must(t, (&replyWriter{to: &b}).write(p))
	var got reply
	must(t, newReplyReader(strings.NewReader(b.String())).read(&got))
	texts := []string{string(got.Error), got.Panic.error().Error(), string(got.Panic.Stack)}
	for _, e := range got.Report.Errors {
		texts = append(texts, string(e.Text), string(e.Panic.Stack))
	}
	for _, s := range texts {
		if len(s) == 0 || len(s) > 3*mostForeign {
			t.Errorf("a text of %d bytes", len(s))
		}
	}
	if n := len(got.Report.Errors); n > 2*mostErrors {
		t.Errorf("%d errors", n)
	}
}
