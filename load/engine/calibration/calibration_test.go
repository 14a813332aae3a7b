package calibration

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/wire"
	"plimsoll/load/workload"
	"plimsoll/reference/refnull"
)

// getter is a behavior of one request every five seconds.
type getter struct{}

type getting struct {
	u *workload.User
	c *wire.Client
	n measure.Name
}

// A lateComer is a getter whose login takes as long as that of a busy host.
type lateComer struct{ getter }

type late struct{ workload.Actor }

func (l lateComer) NewActor(env workload.Env, u *workload.User) (workload.Actor, error) {
	a, err := l.getter.NewActor(env, u)
	return late{a}, err
}

func (late) Login(context.Context) error { time.Sleep(800 * time.Millisecond); return nil }

// rate measures a behavior of one request in five seconds at a server that does nothing.
func rate(t *testing.T, b workload.Behavior, sockets int, length time.Duration) Result {
	t.Helper()
	s, err := refnull.New(refnull.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	r, err := Measure(ctx, Config{Env: workload.Env{URL: s.URL(), Seed: 1,
		Timeout: 5 * time.Second}, Behavior: b, Cores: 1, Sockets: sockets,
		Memory: 1 << 40, Length: length})
	if err != nil {
		t.Fatal(err)
	}
	// At any speed of the machine; a machine that is too slow for the pace makes fewer.
	if r.OpsPerUserSecond > 0.22 || r.OpsPerUserSecond <= 0 {
		t.Errorf("a user makes %v operations per second, want 0.2 at most", r.OpsPerUserSecond)
	}
	if requests := s.Stats().Requests; requests < 100 {
		t.Errorf("the server saw %d requests", requests)
	}
	return r
}

// Users who log in for longer than a short calibration gives them are waited for.
func TestUsersComeLate(t *testing.T) { rate(t, lateComer{}, 400, time.Second) }

func (getter) Provision(context.Context, workload.Env, int) error { return nil }

func (getter) NewActor(env workload.Env, u *workload.User) (workload.Actor, error) {
	c, err := wire.NewClient(wire.Config{URL: env.URL})
	return &getting{u, c, env.Registry.Name("get")}, err
}

func (g *getting) Login(context.Context) error { return nil }
func (g *getting) Think() time.Duration        { return 5 * time.Second }
func (g *getting) Close()                      { g.c.Close() }
func (g *getting) Act(ctx context.Context) error {
	resp, err := g.c.Do(ctx, &wire.Request{Path: "/", SkipBody: true})
	class := measure.OK
	if err != nil || resp.Status != 200 {
		class = measure.Header
	}
	g.u.Done(g.n, resp.Due, resp.Sent, resp.Done, class, 0)
	return nil
}

func TestMeasure(t *testing.T) {
	r := rate(t, getter{}, 2000, 4*time.Second)
	if r.CPUPerOp <= 0 || r.PacedCPUPerOp <= 0 || r.OpsPerSecond <= 0 || r.Users < 1 ||
		r.Users > 1000 {
		t.Errorf("%+v", r)
	}
}

func TestMeasureWithoutServer(t *testing.T) {
	_, err := Measure(t.Context(), Config{
		Env:      workload.Env{URL: "http://127.0.0.1:1"},
		Behavior: getter{},
		Cores:    1,
		Sockets:  100,
		Memory:   1 << 30,
		Length:   time.Second,
	})
	if err == nil || !strings.Contains(err.Error(), "closed loop") {
		t.Errorf("got %v, want the refused connection", err)
	}
}

func TestRate(t *testing.T) {
	for _, tt := range []struct {
		name    string
		r       Result
		sockets int
		memory  uint64
		users   int
		by      string
	}{
		// 10 us and 0.05 ops/s: 0.85 / (10e-6 * 0.05) = 1.7 million.
		{"cpu", Result{
			PacedCPUPerOp:    10,
			OpsPerUserSecond: 0.05,
			KiBPerUser:       1,
		}, 1 << 30, 1 << 50, 1_700_000, "cpu"},
		{"files", Result{
			PacedCPUPerOp:    10,
			OpsPerUserSecond: 0.05,
			KiBPerUser:       1,
		}, 19_000, 1 << 50, 9500, "files"},
		{"memory", Result{
			PacedCPUPerOp:    10,
			OpsPerUserSecond: 0.05,
			KiBPerUser:       32,
		}, 19_000, 64 << 20, 2048, "memory"},
		{"memory is not known", Result{
			PacedCPUPerOp:    10,
			OpsPerUserSecond: 0.05,
		}, 19_000, 64 << 20, 9500, "files"},
	} {
		r := tt.r
		r.rate(Config{Cores: 1, Sockets: tt.sockets, Memory: tt.memory})
		if r.Users != tt.users || r.LimitedBy != tt.by {
			t.Errorf(
				"%s: %d users by %s, want %d by %s",
				tt.name,
				r.Users,
				r.LimitedBy,
				tt.users,
				tt.by,
			)
		}
		users, by := r.InProcesses(tt.memory) // open files of one process are no limit
		if tt.by == "files" {
			tt.users, tt.by = 1_700_000, "cpu"
		}
		if users != tt.users || by != tt.by {
			t.Errorf(
				"%s: %d users by %s in several processes, want %d by %s",
				tt.name,
				users,
				by,
				tt.users,
				tt.by,
			)
		}
	}
}

func TestHeadroom(t *testing.T) {
	r := Result{PacedOps: 1000, OpsPerUserSecond: 0.05, Sockets: 10_000}
	for _, tt := range []struct {
		users int
		pace  float64
		ops   float64
		share float64
		of    string
	}{
		{1000, 1, 0, 0.05, "users"},
		{1000, 0.1, 0, 0.5, "users"}, // ten times as fast
		{1000, 1, 900, 0.9, "ops"},   // more than the pace explains
		{30_000, 1, 0, 1.5, "users"}, // too many
	} {
		if share, of := r.Headroom(tt.users, tt.pace, tt.ops); share < tt.share-1e-9 ||
			share > tt.share+1e-9 ||
			of != tt.of {
			t.Errorf(
				"%d users at pace %v, %v ops/s: %v of %s, want %v of %s",
				tt.users,
				tt.pace,
				tt.ops,
				share,
				of,
				tt.share,
				tt.of,
			)
		}
	}
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	if _, ok, err := Load(dir, "a"); ok || err != nil {
		t.Fatalf("nothing is there, and Load says %v, %v", ok, err)
	}
	a := Result{
		Digest:       "a",
		OpsPerSecond: 1,
		PacedOps:     2,
		Users:        3,
		Date:         time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	b := a
	b.Digest, b.Users = "b", 4
	for _, r := range []Result{a, b} {
		if err := Save(dir, r); err != nil {
			t.Fatal(err)
		}
	}
	got, ok, err := Load(dir, "a")
	if !ok || err != nil || got.Users != 3 || !got.Date.Equal(a.Date) {
		t.Errorf("%+v, %v, %v", got, ok, err)
	}
	if _, ok, _ := Load(dir, "c"); ok {
		t.Error("a host that was never measured has a result")
	}
	if err := os.WriteFile(filepath.Join(dir, File), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Load(dir, "a"); err == nil || !strings.Contains(err.Error(), "-force") {
		t.Errorf("a broken file: %v, want an error with the remedy", err)
	}
	if err := Save(dir, a); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := Load(dir, "a"); !ok || err != nil {
		t.Errorf("after saving over a broken file: %v, %v", ok, err)
	}
}
