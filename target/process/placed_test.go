package process_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"plimsoll/target"
	"plimsoll/target/lab"
	"plimsoll/target/process"
)

// TestPlaced checks that Started is called for each process, at each start, stores before the server, and that a
// launcher gets the spec that would have been started.
func TestPlaced(t *testing.T) {
	var told []string
	var asked []process.Instance
	runs := 0
	conf := process.Config{
		Companions: map[string]target.StartCompanion{
			"cache": func(context.Context, string, []int) (target.Companion, error) {
				runs++
				return &pond{"127.0.0.1:1", &runs}, nil
			},
		},
		Placed: process.Placed{
			Host:      "0.0.0.0",
			Described: map[string]string{"network": "bridge"},
			Started: func(role string, pid int) error {
				if pid < 2 {
					return fmt.Errorf("pid %d", pid)
				}
				told = append(told, role)
				return nil
			},
			Start: func(ctx context.Context, in process.Instance, spec lab.Spec) (process.Process, error) {
				asked = append(asked, in)
				return lab.Start(ctx, spec)
			},
		},
	}
	s := spec(t.TempDir(), "")
	s.Env["INFO"] = "${HOSTPORT}"
	ctx, dep := deploy(t, conf, s)
	if got := get(t, ctx, dep.URL()+"/info"); !strings.HasPrefix(got, fmt.Sprintf("0.0.0.0:%d ", asked[0].Ports[0])) {
		t.Errorf("info %q, want the address to listen on", got)
	}
	if got := dep.Describe().Deployment["network"]; got != "bridge" {
		t.Errorf("described network %q", got)
	}
	if err := dep.Reset(ctx); err != nil {
		t.Fatal(err)
	}
	if want := []string{"cache", "app", "cache", "app"}; !slices.Equal(told, want) {
		t.Errorf("told of %v, want %v", told, want)
	}
	if len(asked) != 2 || asked[0].Ports != asked[1].Ports {
		t.Errorf("started %v", asked)
	}
	no := errors.New("no room in the group")
	conf.Started = func(role string, _ int) error {
		if role == "app" {
			return no
		}
		return nil
	}
	runs = 0
	var pids []int
	conf.Start = func(ctx context.Context, _ process.Instance, spec lab.Spec) (process.Process, error) {
		p, err := lab.Start(ctx, spec)
		if err == nil {
			pids = append(pids, p.PID())
		}
		return p, err
	}
	if _, err := driver(conf).Deploy(ctx, spec(t.TempDir(), "")); !errors.Is(err, no) {
		t.Errorf("an error of Started: %v", err)
	}
	for _, pid := range pids {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
			t.Errorf("process %d is left", pid)
		}
	}
}
