package parallel_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"plimsoll/internal/parallel"
)

// Each piece of work is done once, and an error is returned.
func TestEach(t *testing.T) {
	var sum atomic.Int64
	if err := parallel.Each(100, func(i int) error {
		sum.Add(int64(i))
		return nil
	}); err != nil || sum.Load() != 4950 {
		t.Errorf("sum %d, %v", sum.Load(), err)
	}
	first, second := errors.New("first"), errors.New("second")
	if err := parallel.Each(2, func(i int) error {
		return []error{first, second}[i]
	}); !errors.Is(err, first) && !errors.Is(err, second) {
		t.Errorf("error %v", err)
	}
	if err := parallel.Each(0, func(int) error { return first }); err != nil {
		t.Errorf("no work, but %v", err)
	}
}
