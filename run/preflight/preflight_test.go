package preflight

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/plan"
)

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		stuck := make(chan struct{})
		r, err := Run(t.Context(), []Check{
			{Name: "the files", Do: func(_ context.Context, l *Log) {
				l.Problem("target.binary", "%s is missing", "x")
				l.Caution("", "others use it")
			}},
			{Name: "an address", Within: time.Second, Do: func(ctx context.Context, l *Log) {
				l.Problem("target.url", "seen in time")
				l.Doing("the login")
				<-ctx.Done()
				l.Doing("what comes after")
				l.Problem("target.url", "%v", ctx.Err()) // of the check itself, and no finding
			}},
			{Name: "a dead disk", Do: func(context.Context, *Log) { <-stuck }},
			{
				Name:   "longer than all",
				Within: time.Hour,
				Do:     func(ctx context.Context, _ *Log) { <-ctx.Done() },
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		want := Result{
			Problems: []plan.Problem{{
				Path: "target.binary",
				Msg:  "x is missing",
			}, {Path: "target.url", Msg: "seen in time"}},
			Cautions: []plan.Problem{{Msg: "others use it"}},
			Left:     []string{"the login", "a dead disk", "longer than all"},
		}
		if diff := cmp.Diff(want, r); diff != "" {
			t.Error(diff)
		}
		if took := time.Since(began); took != Within+patience {
			t.Errorf(
				"it took %v; checks that go on are waited for %v beyond %v",
				took,
				patience,
				Within,
			)
		}
		close(stuck)
	})
}

func TestRunEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("interrupted")
		_, err := Run(ctx, []Check{{
			Name: "one",
			Do:   func(ctx context.Context, _ *Log) { cancel(stop); <-ctx.Done() },
		}})
		if !errors.Is(err, stop) {
			t.Errorf("got %v, want the cause of the end", err)
		}
		_, err = Run(t.Context(), []Check{{
			Name: "two",
			Do:   func(context.Context, *Log) { panic("a defect") },
		}})
		if err == nil || !strings.Contains(err.Error(), "the check of two") {
			t.Errorf("got %v, want the panic", err)
		}
	})
}
