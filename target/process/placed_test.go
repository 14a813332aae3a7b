package process_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/target"
	"plimsoll/target/lab"
	"plimsoll/target/process"
)

// TestPlaced checks that Started is called for each process, at each start, stores before the
// server, and that a launcher gets the spec that would have been started.
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
	if got := get(t, ctx, dep.URL()+"/info"); !strings.HasPrefix(
		got,
		fmt.Sprintf("0.0.0.0:%d ", asked[0].Ports[0]),
	) {
		t.Errorf("info %q, want the address to listen on", got)
	}
	if got := dep.Describe().Deployment["network"]; got != "bridge" {
		t.Errorf("described network %q", got)
	}
	failure.None(t, dep.Reset(ctx))
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
	failure.Is(t, failure.Of(driver(conf).Deploy(ctx, spec(t.TempDir(), ""))), no)
	for _, pid := range pids {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
			t.Errorf("process %d is left", pid)
		}
	}
}

// TestHosts: instances that are hosts of their own listen there, know each other there, and are
// reached there, by the proxy too.
func TestHosts(t *testing.T) {
	hosts := []string{"127.0.0.2", "127.0.0.3"}
	runs := 0
	var upstreams []string
	conf := process.Config{
		Proxy: func(_ context.Context, _ string, _ []int, listen string, to []string) (target.Companion, error) {
			upstreams = to
			runs++
			return &pond{listen, &runs}, nil
		},
		ProxyHost: "127.0.0.4",
		Placed: process.Placed{
			Hosts:    hosts,
			AllHosts: []target.HostAddr{{Name: "app-0", Addr: hosts[0]}},
			Links:    "db rate 1Gbit/s",
		},
	}
	s := spec(t.TempDir(), "")
	s.Instances, s.Env["INFO"] = 2, "${HOST} ${PEERS}"
	ctx, dep := deploy(t, conf, s)
	for i, host := range hosts {
		if !strings.HasPrefix(upstreams[i], host+":") {
			t.Fatalf("the proxy passes to %v, want %v", upstreams, hosts)
		}
		want := fmt.Sprintf("%s %s,%s ", host, upstreams[0], upstreams[1])
		if got := get(t, ctx, "http://"+upstreams[i]+"/info"); !strings.HasPrefix(got, want) {
			t.Errorf("instance %d has %q, want %q", i, got, want)
		}
	}
	if !strings.HasPrefix(dep.URL(), "http://127.0.0.4:") {
		t.Errorf("users have %s", dep.URL())
	}
	if d := dep.Describe(); len(d.Hosts) != 1 || d.Hosts[0].Addr != hosts[0] ||
		d.Links != conf.Links {
		t.Errorf("described hosts %v, links %q", d.Hosts, d.Links)
	}
	conf.Hosts, s.Dir = hosts[:1], t.TempDir()
	failure.Says(t, failure.Of(driver(conf).Deploy(ctx, s)), "1 addresses for 2 instances")
}
