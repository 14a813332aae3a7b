package script

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/grafana/sobek"

	expect "plimsoll/internal/failure"
)

// TestHandlersWhileHostCallsWait proves the rule on which sockets that live across actions rest: a
// runtime stays whole when another goroutine calls functions of it while its own one waits in a host
// call, if each call is under the lock that the host call has released.
func TestHandlersWhileHostCallsWait(t *testing.T) {
	t.Parallel()
	const messages = 2_000
	rt := sobek.New()
	var mu sync.Mutex
	var handled, thrown, cut atomic.Int64
	turn := make(chan struct{})
	wait := func(call sobek.FunctionCall) sobek.Value {
		want := handled.Load() + call.Argument(0).ToInteger()
		mu.Unlock()
		for handled.Load() < min(want, messages) {
			turn <- struct{}{}
		}
		mu.Lock()
		return rt.ToValue(call.Argument(0).ToInteger() * 2)
	}
	expect.None(t, rt.Set("wait", wait))
	_, err := rt.RunString(`
Object.assign(globalThis, {total: 0, depth: 0, inner: 0});
function* numbers(n) { for (let i = 0; i < n; i++) yield wait(1) / 2 + i; }
function handler(text, way) {
  total++;
  const a = [text, total].map((x) => String(x).repeat(2));
  if (way === "throw") throw new Error("seventh " + text);
  if (way === "loop") for (;;) inner++;
  try { JSON.parse("{" + text); } catch (e) { inner++; }
  return a.length;
}
function action(i) {
  const around = {i, list: [1, 2, 3]};
  let sum = 0;
  for (const x of numbers(3)) sum += x;          // waits within a generator
  sum += around.list.map((x) => wait(x)).reduce((a, b) => a + b, 0);
  try { wait(2); throw {around}; } catch (e) { sum += e.around.i; } finally { sum += wait(1); }
  const [p, ...q] = [wait(1), ...around.list];   // with operands on the stack
  return ` + "`${sum + p + q.length * (1 + wait(3))}`" + `;
}`)
	expect.None(t, err)
	handler, _ := sobek.AssertFunction(rt.Get("handler"))
	action, _ := sobek.AssertFunction(rt.Get("action"))
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-turn:
			case <-done:
				return
			}
			mu.Lock()
			way := [...]string{"", "", "throw", "", "", "loop", ""}[i%7]
			if way == "loop" {
				time.AfterFunc(time.Microsecond, func() { rt.Interrupt("too long") })
			}
			_, err := handler(sobek.Undefined(), rt.ToValue(fmt.Sprint("m", i)), rt.ToValue(way))
			if _, ok := errors.AsType[*sobek.InterruptedError](err); ok {
				cut.Add(1)
				rt.ClearInterrupt()
			} else if err != nil {
				thrown.Add(1)
			}
			handled.Add(1)
			mu.Unlock()
		}
	})
	mu.Lock()
	for i := int64(0); handled.Load() < messages; i++ {
		v, err := action(sobek.Undefined(), rt.ToValue(i))
		if err != nil {
			t.Fatal(i, err)
		}
		if want := fmt.Sprint(6 + 12 + i + 2 + 2 + 3*7); v.String() != want {
			t.Fatalf("action %d: %s, want %s", i, v, want)
		}
	}
	mu.Unlock()
	close(done)
	wg.Wait()
	// one that is interrupted before its first instruction does not count
	if got, n := rt.Get("total").ToInteger(), handled.Load(); got > n || got < n-cut.Load() {
		t.Errorf("%d calls, %d counted", n, got)
	}
	if thrown.Load() < messages/7 || cut.Load() < messages/7 {
		t.Error(thrown.Load(), cut.Load())
	}
}
