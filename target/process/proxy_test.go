package process_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/target"
	"plimsoll/target/process"
)

// TestProxy: users have the proxy's address alone, which stays at a reset; the proxy begins when
// the instances are ready, and has their addresses.
func TestProxy(t *testing.T) {
	runs := 0
	var heard []string
	var before []string
	conf := process.Config{
		Proxy: func(ctx context.Context, _ string, _ []int, listen string, upstreams []string) (target.Companion, error) {
			for _, u := range upstreams {
				if err := target.Ready(ctx, "http://"+u+"/ready"); err != nil {
					t.Errorf("upstream %s when the proxy starts: %v", u, err)
				}
			}
			heard, before = append(heard, listen), upstreams
			runs++
			return &pond{listen, &runs}, nil
		},
	}
	s := spec(t.TempDir(), "")
	s.Instances, s.Env["INFO"] = 2, "${URL} ${USERS_URL}"
	ctx, dep := deploy(t, conf, s)
	if len(before) != 2 || before[0] == before[1] {
		t.Fatalf("upstreams %v, want two", before)
	}
	want := "http://" + heard[0]
	if got := dep.URLs(); dep.URL() != want || !slices.Equal(got, []string{want}) {
		t.Errorf("URLs %v, want %s alone", got, want)
	}
	if got := get(t, ctx, "http://"+before[1]+"/info"); !strings.HasPrefix(
		got,
		fmt.Sprintf("http://%s %s ", before[1], want),
	) {
		t.Errorf("variables %q, want the instance's URL and the proxy's", got)
	}
	if got := dep.MetricsURLs(); len(got) != 2 || !strings.Contains(got[1], before[1]) {
		t.Errorf("metrics %v, want those of the instances", got)
	}
	d := dep.Describe()
	if d.Companions["proxy"].Name != "Pond" || !slices.Equal(d.URLs, []string{want}) ||
		len(dep.PIDs()["proxy"]) != 1 {
		t.Errorf("described as %+v with processes %v", d, dep.PIDs())
	}
	failure.None(t, dep.Reset(ctx))
	if runs != 1 || len(heard) != 2 || heard[0] != heard[1] {
		t.Errorf("after a reset %d run, at %v; want one, at the same address", runs, heard)
	}
	runsAlone(t, ctx, dep, &runs)
}

// A proxy whose port was taken in between gets another.
func TestProxyPortTaken(t *testing.T) {
	runs, tries := 0, 0
	conf := process.Config{
		Proxy: func(_ context.Context, _ string, _ []int, listen string, _ []string) (target.Companion, error) {
			if tries++; tries == 1 {
				return nil, errors.New("bind() failed (98: Address already in use)")
			}
			runs++
			return &pond{listen, &runs}, nil
		},
	}
	_, dep := deploy(t, conf, spec(t.TempDir(), ""))
	if tries != 2 || runs != 1 || len(dep.URLs()) != 1 {
		t.Errorf("%d tries, %d run", tries, runs)
	}
	conf.Proxy = func(context.Context, string, []int, string, []string) (target.Companion, error) {
		return nil, errors.New("no such program")
	}
	failure.Says(
		t,
		failure.Of(driver(conf).Deploy(t.Context(), spec(t.TempDir(), ""))),
		"no such program",
	)
}
