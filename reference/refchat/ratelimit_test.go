package refchat

import (
	"testing"
	"time"
)

func TestLimitRefusesWhatIsBeyondTheRate(t *testing.T) {
	l := limitFault{rate: 10, handler: "createPost"}
	now := time.Unix(1e9, 0)
	taken := func(n int) (ok int) {
		for range n {
			if !l.refuses("createPost", now) {
				ok++
			}
		}
		return ok
	}
	if n := taken(50); n != 10 {
		t.Errorf("%d of 50 at once, want the burst of 10", n)
	}
	now = now.Add(500 * time.Millisecond)
	if n := taken(50); n != 5 {
		t.Errorf("%d after half a second, want 5", n)
	}
	now = now.Add(time.Minute)
	if n := taken(50); n != 10 {
		t.Errorf("%d after a minute, want no more than 10", n)
	}
	if l.refuses("getChannel", now) {
		t.Error("another handler was limited")
	}
	if (&limitFault{}).refuses("createPost", now) {
		t.Error("no limit refused")
	}
}
