package compare

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"
	"time"

	"plimsoll/dialect"
	"plimsoll/internal/boundary"
	"plimsoll/internal/plain"
	"plimsoll/judge/comparison"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/reference/refnull"
	"plimsoll/run/deploy"
	"plimsoll/run/session"
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

// A getter is a behavior, and one of its users, who gets a page of the server every 10 ms.
type getter struct {
	url  string
	user *workload.User
}

func (getter) Provision(context.Context, workload.Env, int) error { return nil }

func (getter) NewActor(env workload.Env, u *workload.User) (workload.Actor, error) {
	return getter{env.URL, u}, nil
}

func (getter) Login(context.Context) error { return nil }
func (getter) Think() time.Duration        { return 10 * time.Millisecond }
func (getter) Close()                      {}

func (g getter) Act(ctx context.Context) error {
	began := time.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.url, nil)
	if err != nil {
		return err
	}
	class := measure.OK
	if resp, err := http.DefaultClient.Do(req); err != nil {
		class = measure.Dial
	} else {
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	g.user.Done(g.user.Recorder().Name("get"), began, began, time.Now(), class, 0)
	return nil
}

// serving returns the address of a null server.
func serving(t *testing.T) string {
	t.Helper()
	s, err := refnull.New(refnull.Config{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return s.URL()
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
			p := parsed(t, fmt.Sprintf(twoServers, mode, serving(t), serving(t)))
			st, err := store.Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			d := &dialect.Dialect{
				Name:      "pages",
				Behaviors: dialect.Registry{"getter": func() workload.Behavior { return getter{} }},
				Settings:  dialect.Settings{Check: func(map[string]string) error { return nil }},
			}
			pr := &session.Program{
				Resolver: deploy.Resolver{
					Env:      func(string) string { return "" },
					Secrets:  new(plain.Secrets),
					Dialects: dialect.Set{d},
				},
				Version: "v1",
				Args:    []string{"compare"},
				Warn:    io.Discard,
				RawErr:  io.Discard,
				Panics:  new(boundary.Panics),
				Null:    nullVerb,
				AtSeal: func(context.Context, string, record.Manifest, float64) error {
					return nil
				},
			}
			s, err := session.NewSession(pr, p, st)
			if err != nil {
				t.Fatal(err)
			}
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
				stored, err := st.Run(run.Run)
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
