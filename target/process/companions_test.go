package process_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/target"
	"plimsoll/target/lab"
	"plimsoll/target/process"
)

// pond is a companion that notes whether it runs.
type pond struct {
	addr string
	runs *int
}

func (p *pond) Addr() string { return p.addr }
func (p *pond) PIDs() []int  { return []int{os.Getpid()} }
func (p *pond) Describe(context.Context) (lab.ProgramInfo, error) {
	return lab.ProgramInfo{Name: "Pond", Version: "2"}, nil
}
func (p *pond) Stop(context.Context) error {
	*p.runs--
	return nil
}

// runsAlone halts a deployment, starts it again and stops it, and expects its one pond to run, or
// none.
func runsAlone(t *testing.T, ctx context.Context, dep target.Deployment, runs *int) {
	t.Helper()
	for i, step := range []func() error{
		func() error { return halt(ctx, dep) },
		func() error { return dep.Reset(ctx) },
		func() error { return dep.Stop(ctx) },
	} {
		if err := step(); err != nil || *runs != i%2 {
			t.Errorf("step %d: %v, %d run", i, err, *runs)
		}
	}
}

// TestCompanions: each run finds new ones, with empty directories, and the program their addresses.
func TestCompanions(t *testing.T) {
	started, runs := 0, 0
	conf := process.Config{Companions: map[string]target.StartCompanion{
		"cache": func(_ context.Context, dir string, _ []int) (target.Companion, error) {
			if list, err := os.ReadDir(dir); err != nil || len(list) != 0 {
				t.Errorf("its directory holds %v, %v", list, err)
			}
			started++
			runs++
			return &pond{
				fmt.Sprintf("127.0.0.1:%d", started),
				&runs,
			}, os.WriteFile(filepath.Join(dir, "left"), nil, 0o644)
		},
	}}
	s := spec(t.TempDir(), "")
	s.Env["INFO"] = "${CACHE}"
	ctx, dep := deploy(t, conf, s)
	if got := get(t, ctx, dep.URL()+"/info"); !strings.HasPrefix(got, "127.0.0.1:1 ") {
		t.Errorf("info %q, want the companion's address", got)
	}
	if d := dep.Describe().Companions["cache"]; d.Name != "Pond" || d.Version != "2" {
		t.Errorf("description %+v", d)
	}
	if len(dep.PIDs()["cache"]) != 1 {
		t.Errorf("PIDs %v: want the companion's", dep.PIDs())
	}
	failure.None(t, dep.Reset(ctx))
	if got := get(t, ctx, dep.URL()+"/info"); !strings.HasPrefix(got, "127.0.0.1:2 ") || runs != 1 {
		t.Errorf("after a reset: info %q, %d run; want the second alone", got, runs)
	}
	runsAlone(t, ctx, dep, &runs)
	conf.Companions["wide"] = func(context.Context, string, []int) (target.Companion, error) {
		return nil, errors.New("no such program")
	}
	if _, err := driver(conf).Deploy(ctx, spec(t.TempDir(), "")); err == nil ||
		!strings.Contains(err.Error(), "starting the wide: no such program") ||
		runs != 0 {
		t.Errorf("a companion that does not start: %v, %d run", err, runs)
	}
}
