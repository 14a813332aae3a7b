package workload

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

var errGone, errBusy = errors.New("gone"), errors.New("busy")

func TestAgainAsksUntilThereIsAnAnswer(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fails int // with err, before the answer
		err   error
		asked int
		want  error
		ends  time.Duration // of the context
	}{
		{"at once", 0, nil, 1, nil, time.Minute},
		{"after one failure", 1, errBusy, 2, nil, time.Minute},
		{"after four", 4, errBusy, 5, nil, time.Minute},
		{"never", 100, errBusy, 5, errBusy, time.Minute},
		{"an error that is an answer", 100, errGone, 1, errGone, time.Minute},
		{"no time left", 100, errBusy, 2, errBusy, 300 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tt.ends)
				defer cancel()
				asked := 0
				got, err := Again(ctx, func(err error) bool {
					return errors.Is(err, errGone)
				}, func() (int, error) {
					if asked++; asked <= tt.fails {
						return 0, tt.err
					}
					return 42, nil
				})
				if asked != tt.asked || !errors.Is(err, tt.want) ||
					(tt.want == nil) != (got == 42) {
					t.Errorf(
						"asked %d times, got %d, %v; want %d times, %v",
						asked,
						got,
						err,
						tt.asked,
						tt.want,
					)
				}
			})
		})
	}
}
