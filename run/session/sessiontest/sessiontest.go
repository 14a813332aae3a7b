// Package sessiontest makes sessions for tests, whose users get pages of a server.
package sessiontest

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

// Serving returns the address of a null server.
func Serving(t *testing.T) string {
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

// New returns a session of a plan, whose behavior is called getter, in a new store. null is the
// verb by which the program of the test starts a null server; it may be empty.
func New(t *testing.T, p *plan.Plan, null string, args ...string) *session.Session {
	t.Helper()
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
		Version: "v1",
		Args:    args,
		Warn:    io.Discard,
		RawErr:  io.Discard,
		Panics:  new(boundary.Panics),
		Null:    null,
		AtSeal:  func(context.Context, string, record.Manifest, float64) error { return nil },
	}, p, st)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
