package refnull

import (
	"errors"
	"testing"
)

// No two servers of a test make the same id, and the ids of a name are the same on all of them.
func TestNumber(t *testing.T) {
	seen := map[string]int{}
	for number := range 3 {
		s, err := New(Config{Number: number})
		noError(t, err)
		s.ln.Close()
		for range 1000 {
			id := string(s.fresh(nil))
			if other, twice := seen[id]; twice {
				t.Fatalf("servers %d and %d have both made %s", other, number, id)
			}
			seen[id] = number
		}
		if got, want := string(s.id(nil, []byte("anna"))), string(idOf([]byte("anna"))); got != want {
			t.Errorf("server %d has the id %s for anna, want %s", number, got, want)
		}
	}
	for _, number := range []int{-1, mostNumber + 1} {
		if _, err := New(Config{Number: number}); !errors.Is(err, ErrUsage) {
			t.Errorf("number %d: %v", number, err)
		}
	}
}
