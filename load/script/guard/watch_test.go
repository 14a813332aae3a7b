package guard_test

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/grafana/sobek"

	"plimsoll/internal/failure"
	"plimsoll/load/script/guard"
)

// watch returns a Watch that ends with the test.
func watch(t testing.TB, limit guard.Limit) *guard.Watch {
	w := guard.New(limit)
	t.Cleanup(w.Close)
	return w
}

// run runs code as a stretch and returns why it was interrupted.
func run(t testing.TB, w *guard.Watch, code string) string {
	rt := sobek.New()
	failure.None(t, guard.Harden(rt))
	s := w.Enter(rt)
	_, err := rt.RunString(code)
	s.Leave()
	if err == nil {
		return ""
	}
	inside, ok := errors.AsType[*sobek.InterruptedError](err)
	if !ok {
		t.Fatalf("%s: %v", code, err)
	}
	return inside.Value().(error).Error()
}

func TestComputingIsInterrupted(t *testing.T) {
	t.Parallel()
	w := watch(t, guard.Limit{CPU: 50 * time.Millisecond})
	for _, code := range []string{
		`for (;;);`,
		`try { for (;;); } catch { } finally { for (;;); }`,
		`const o = {get x() { for (;;); }}; try { o.x } catch { }`,
		`"" + {toString() { for (;;); }}`,
		`[1].map(() => { for (;;); })`,
		`new Promise(() => { for (;;); })`,
		`(async () => { await 1; for (;;); })()`,
		`function* g() { for (;;) yield 1 }; for (const x of g());`,
		`/(a+)+$/.test("a".repeat(30) + "b"); for (;;);`,
		`/(?=a)(a+)+$/.test("a".repeat(40) + "b"); for (;;);`,
		`[3, 2, 1].sort(() => { for (;;); })`,
		`JSON.stringify({toJSON() { for (;;); }})`,
	} {
		if got := run(t, w, code); got != "computed for more than 50ms" {
			t.Errorf("%s: interrupted with %q", code, got)
		}
	}
}

// TestManyAtOnce has each of 1,000 runtimes compute without end: all share two processors at best,
// and all end.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	w := watch(t, guard.Limit{CPU: 20 * time.Millisecond})
	var wg sync.WaitGroup
	for range 1000 {
		wg.Go(func() {
			if run(t, w, `for (;;);`) == "" {
				t.Error("an endless loop has ended")
			}
		})
	}
	wg.Wait()
}

// spy counts interrupts.
type spy struct {
	struck  atomic.Int64
	cleared atomic.Int64
}

func (s *spy) Interrupt(any)   { s.struck.Add(1) }
func (s *spy) ClearInterrupt() { s.cleared.Add(1) }

// burn uses CPU for as long.
func burn(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
		runtime.Gosched()
	}
}

func TestWaitsDoNotCount(t *testing.T) {
	t.Parallel()
	w := watch(t, guard.Limit{CPU: 100 * time.Millisecond})
	var v spy
	s := w.Enter(&v)
	s.Pause()
	burn(500 * time.Millisecond) // of another goroutine, as it were
	s.Resume()
	s.Leave()
	if n := v.struck.Load(); n != 0 {
		t.Errorf("a stretch that waited was interrupted %d times", n)
	}
}

// TestInterruptOutlivesPause checks that a stretch that was struck is struck again after a pause, in
// which others may have cleared the runtime's mark, and that nothing is left of it in the end.
func TestInterruptOutlivesPause(t *testing.T) {
	t.Parallel()
	w := watch(t, guard.Limit{CPU: 20 * time.Millisecond})
	var v spy
	s := w.Enter(&v)
	failure.Unless(t, func() bool { burn(10 * time.Millisecond); return v.struck.Load() == 1 }, "no interrupt")
	s.Pause()
	s.Resume()
	if n := v.struck.Load(); n != 2 {
		t.Errorf("interrupted %d times, want 2", n)
	}
	s.Leave()
	if n := v.cleared.Load(); n != 1 {
		t.Errorf("cleared %d times, want 1", n)
	}
	if again := w.Enter(&v); again != s {
		t.Error("the stretch is not reused")
	} else {
		again.Leave()
	}
}

func TestMemoryIsLimited(t *testing.T) {
	before := held()
	w := watch(t, guard.Limit{CPU: time.Minute, Heap: before + 200<<20})
	for _, code := range []string{
		`let s = "x"; for (;;) s += s`,
		`const a = []; for (;;) a.push({})`,
		`const m = new Map(); for (let i = 0;; i++) m.set(i, "x" + i)`,
		`const a = []; for (;;) a.push(new ArrayBuffer(1 << 24))`,
	} {
		if got := run(t, w, code); !strings.HasPrefix(got, "used too much memory") {
			t.Errorf("%s: interrupted with %q", code, got)
		}
	}
	// Garbage is nobody's fault.
	if got := run(t, w, `for (let i = 0; i < 500; i++) new ArrayBuffer(1 << 22)`); got != "" {
		t.Errorf("2 GiB of garbage: interrupted with %q", got)
	}
}

func held() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestEnteringAllocatesNothing(t *testing.T) {
	w := watch(t, guard.Limit{})
	rt := sobek.New()
	w.Enter(rt).Leave()
	if n := testing.AllocsPerRun(100, func() {
		s := w.Enter(rt)
		s.Pause()
		s.Resume()
		s.Leave()
	}); n != 0 {
		t.Errorf("%.0f allocations", n)
	}
}

func BenchmarkEnter(b *testing.B) {
	w := watch(b, guard.Limit{})
	rt := sobek.New()
	b.Run("enter", func(b *testing.B) {
		for b.Loop() {
			w.Enter(rt).Leave()
		}
	})
	b.Run("pause", func(b *testing.B) {
		s := w.Enter(rt)
		for b.Loop() {
			s.Pause()
			s.Resume()
		}
	})
}

// BenchmarkLook has 50,000 stretches of which two compute.
func BenchmarkLook(b *testing.B) {
	w := watch(b, guard.Limit{CPU: time.Hour})
	var v spy
	for i := range 50_000 {
		if s := w.Enter(&v); i > 1 {
			s.Pause()
		}
	}
	b.ResetTimer()
	for range b.N {
		time.Sleep(20 * time.Millisecond)
	}
}
