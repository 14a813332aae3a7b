package sizing

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"plimsoll/dialect"
	"plimsoll/internal/boundary"
	"plimsoll/internal/plain"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/reference/refnull"
	"plimsoll/run/deploy"
	"plimsoll/run/session"
)

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

// TestClimb carries out two steps on a server that is up already: each has a run, in their order,
// and the record names them with their digests.
func TestClimb(t *testing.T) {
	server, err := refnull.New(refnull.Config{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Run(ctx) }()
	defer func() {
		stop()
		<-done
	}()
	p, err := plan.Parse(
		[]byte("name: steps\ntarget: {driver: external, url: \"" + server.URL() + "\"}\n" +
			"workload: {behavior: getter}\nsizing: {steps: [1, 3], ramp: 30/s, settle: 0s, hold: 1s}\n"),
	)
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, err := session.NewSession(&session.Program{
		Resolver: deploy.Resolver{
			Env:     func(string) string { return "" },
			Secrets: new(plain.Secrets),
			Dialects: dialect.Set{{
				Name:      "pages",
				Behaviors: dialect.Registry{"getter": func() workload.Behavior { return getter{} }},
				Settings:  dialect.Settings{Check: func(map[string]string) error { return nil }},
			}},
		},
		Args:   []string{"sizing"},
		Warn:   io.Discard,
		RawErr: io.Discard,
		Panics: new(boundary.Panics),
		AtSeal: func(context.Context, string, record.Manifest, float64) error { return nil },
	}, p, st)
	if err != nil {
		t.Fatal(err)
	}
	deployed := s.NewDeployments()
	defer deployed.Close()
	z := &record.Sizing{ID: "z", State: record.Running, Planned: p.Sizing.Steps}
	l := &Ladder{Session: s, Plan: p, Part: session.RunPart{Comparison: z.ID}, Record: z}
	if err := l.Climb(t.Context(), deployed); err != nil {
		t.Fatal(err)
	}
	stored, err := st.Sizing(z.ID)
	if err != nil || len(stored.Steps) != 2 {
		t.Fatalf("%+v, %v", stored, err)
	}
	for i, step := range stored.Steps {
		r, err := st.Run(step.Run)
		if err != nil {
			t.Fatal(err)
		}
		if _, measured := r.Manifest.Phase("measure"); step.Users != p.Sizing.Steps[i] || r.Manifest.Order != i+1 ||
			r.Manifest.Comparison != z.ID || step.Digest == "" ||
			!measured {
			t.Errorf("step %d: %+v, run %+v", i+1, step, r.Manifest)
		}
	}
}
