package plans

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/app"
	"plimsoll/cmd/internal/verbtest"
	"plimsoll/internal/failure"
	"plimsoll/target/lab/netns"
)

// TestDelayNeedsNetem: a kernel without netem is named by plan check, and the run is refused before
// it begins; a kernel with it is no problem.
func TestDelayNeedsNetem(t *testing.T) {
	if os.Geteuid() != 0 {
		failure.Lacks(t, "networks need root")
	}
	const text = `name: hosts
target:
  driver: refchat
  topology: {apps: 2, proxy: nginx, replicas: 1, hosts: netns, links: {all: {delay: 1ms}}}
database: {engine: postgresql}
workload: {behavior: poster}
bounded: {users: 30}
`
	lacks := netns.Linkable(t.Context(), netns.Shaping{Delay: time.Millisecond})
	path := filepath.Join(t.TempDir(), "plan.yaml")
	write(t, path, text)
	status, out, errs := verbtest.Run(t, Plan, "check", path)
	if status != exit.OK {
		t.Errorf("plan check ends with %d\n%s%s", status, out, errs)
	}
	const cannot = "it cannot be carried out here: " +
		"target.topology.links: delay: this kernel has no netem"
	if says := strings.Contains(out, cannot); says != (lacks != nil) {
		t.Errorf("this kernel: %v; plan check says\n%s", lacks, out)
	}
	if lacks == nil {
		return
	}
	a := &app.App{Env: func(string) string { return "" }, Stderr: io.Discard}
	p, err := a.Known().Parse([]byte(text))
	failure.None(t, err)
	done, err := a.Program().Isolate(t.Context(), p, t.TempDir())
	if failure.Says(t, err, "or remove delay"); done || exit.Of(err) != exit.Usage {
		t.Errorf("done %v, status %d", done, exit.Of(err))
	}
}
