package wire

import "testing"

// A user lets others pass for as long as its answers are there afterwards; after misses it tries
// more and more rarely, and one hit is enough to try each time again.
func TestCourtesyLearns(t *testing.T) {
	var c courtesy
	skipped := func() (n int) {
		for ; !c.now(); n++ {
			if n > 1<<mostMisses {
				t.Fatal("it does not try any more")
			}
		}
		return n
	}
	for i, want := range []int{0, 1, 3, 7, 15, 31, 31} {
		if got := skipped(); got != want {
			t.Errorf("after %d misses it was not tried %d times, want %d", i, got, want)
		}
		c.learn(false)
	}
	skipped()
	c.learn(true)
	for range 3 {
		if got := skipped(); got != 0 {
			t.Errorf("after a hit it was not tried %d times", got)
		}
		c.learn(true)
	}
}
