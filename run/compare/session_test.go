package compare

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"
	"time"

	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/reference/refnull"
	"plimsoll/run/session/sessiontest"
)

// nullVerb has this program start a null server for the canary, as the program of a session does.
const nullVerb = "null"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == nullVerb {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		err := refnull.Main(ctx, os.Args[2:], os.Stdout)
		stop()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	m.Run()
}

// twoServers compares two servers that are up already, in one block.
const twoServers = `
name: two
target: {driver: external}
workload: {behavior: getter}
bounded: {users: 2, ramp: 0s, settle: 0s, measure: 1s, slo: ["rate(errors) < 60%%"]}
compare: {mode: %s, blocks: 1, retry: 0s, arms: {base: {url: "%s"}, new: {url: "%s"}}, margin: {errors: 50pp}}
`

// TestComparisonOfServers carries out blocks on servers, one run after the other and in turns: the
// runs are in the store, with their cells, and the comparison is complete.
func TestComparisonOfServers(t *testing.T) {
	for _, mode := range []string{plan.ModeSequence, plan.ModeDuet} {
		t.Run(mode, func(t *testing.T) {
			base, fresh := sessiontest.Serving(t), sessiontest.Serving(t)
			p := parsed(t, fmt.Sprintf(twoServers, mode, base, fresh))
			s := sessiontest.New(t, p, nullVerb, "compare")
			c, err := Run(t.Context(), s, Options{
				Began:   time.Now(),
				Readers: func(context.Context) []comparison.Reader { return nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			if c.State != record.Sealed || c.Mode != mode || len(c.Runs) != 2 {
				t.Fatalf("%s (%s), mode %s: %+v", c.State, c.Why, c.Mode, c.Runs)
			}
			var cells []string
			for _, run := range c.Runs {
				stored, err := s.Store.Run(run.Run)
				if err != nil {
					t.Fatal(err)
				}
				m := stored.Manifest
				cells = append(cells, fmt.Sprint(m.Block, " ", m.Arm))
				if m.Comparison != c.ID || m.Order != run.Order ||
					stored.Validity.Valid != run.Valid ||
					(m.Duet != nil) != (mode == plan.ModeDuet) {
					t.Errorf("%+v is the run %+v", run, m)
				}
				if _, measured := m.Phase("measure"); !measured {
					t.Errorf("block %d, %s: nothing was measured: %s", run.Block, run.Arm, run.Why)
				}
				if run.Canary <= 0 {
					t.Errorf("block %d, %s: no reading of the canary", run.Block, run.Arm)
				}
			}
			slices.Sort(cells)
			if want := []string{"1 base", "1 new"}; !slices.Equal(cells, want) {
				t.Errorf("runs of %q, want %q", cells, want)
			}
		})
	}
}
