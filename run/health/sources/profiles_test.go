package sources

import (
	"os"
	"strings"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/record"
	"plimsoll/run/deploy"
	"plimsoll/target"
	"plimsoll/watch/probe"
	"plimsoll/watch/profile"
)

var spun uint64

func spin() {
	for range 200_000_000 {
		spun ^= spun<<13 | 1
	}
}

// An ownProcess is a deployment whose server and proxy are this process.
type ownProcess struct{ target.Deployment }

func (ownProcess) PIDs() map[string][]int {
	return map[string][]int{"app": {os.Getpid()}, "proxy": {os.Getpid()}}
}

// profiled carries out a trial of this process with the phases and turns of do, and returns its run
// and the roles that have no profile.
func profiled(t *testing.T, do func(p *Profiles, turns *probe.Turns)) (
	*record.Run, []record.Event,
) {
	t.Helper()
	turns, err := probe.NewTurns("")
	failure.None(t, err)
	t.Cleanup(func() { _ = turns.Close() })
	x := &deploy.System{Deployment: ownProcess{}}
	p, err := new(Opener).Profiles(t.Context(), x, nil, turns)
	failure.None(t, err)
	t.Cleanup(func() { _ = p.Close() })
	if len(p.missing) > 0 {
		failure.Lacks(t, p.missing[0].Text)
	}
	do(p, turns)
	w, err := record.Create(t.TempDir()+"/run", record.Manifest{ID: "r"})
	failure.None(t, err)
	missing, err := p.Write(w)
	failure.None(t, err)
	_, err = w.Seal(t.Context(), record.Validity{Valid: true}, "")
	failure.None(t, err)
	run, err := record.Open(w.Dir())
	failure.None(t, err)
	return run, missing
}

// Only what is done in the measured phase and in a turn is profiled.
func TestProfilesOfOwnTurns(t *testing.T) {
	run, missing := profiled(t, func(p *Profiles, turns *probe.Turns) {
		turns.Begin()
		p.Phase("settle")
		spin()
		p.Phase("")
		turns.End()
		p.Phase("measure")
		spin()
		p.Phase("")
		turns.Begin()
		spin()
	})
	if len(run.Profiles()) != 0 || len(missing) != 1 ||
		missing[0].Kind != record.NotProfiledEvent ||
		!strings.Contains(missing[0].Text, "app: no sample") {
		t.Errorf("profiles of %v, %+v", run.Profiles(), missing)
	}
	run, missing = profiled(t, func(p *Profiles, turns *probe.Turns) {
		p.Phase("measure")
		for range 2 {
			turns.Begin()
			spin()
			turns.End()
		}
	})
	if got := run.Profiles(); len(missing) != 0 || len(got) != 1 || got[0] != "app" {
		t.Fatalf("profiles of %v, %+v", got, missing)
	}
	f, err := run.Profile("app")
	failure.None(t, err)
	defer f.Close()
	s, err := profile.Read(f)
	if failure.None(t, err); s.CPU <= 0 || s.Seconds <= 0 || s.Source != profile.FromKernel {
		t.Errorf("%v s, %v s of CPU from %s", s.Seconds, s.CPU, s.Source)
	}
}

// The run of a server elsewhere has the reason why it has no profile; one whose plan names a page
// has none.
func TestProfilesOfAServerElsewhere(t *testing.T) {
	srv := pages(t)
	for probes, why := range map[string]string{
		"": "kind: pprof",
		`{kind: pprof, role: app, url: "` + srv.URL + `/debug/pprof"}`: "",
	} {
		o, x := opening(t, srv.URL, probes, nil)
		x.Deployment = deployed(t, target.Spec{URL: srv.URL, Ready: "/metrics"})
		p, err := o.Profiles(t.Context(), x, nil, nil)
		failure.None(t, err)
		failure.None(t, p.Close())
		if (p.page != nil) != (why == "") || (len(p.missing) > 0) != (why != "") {
			t.Errorf("%q: %v, %+v", probes, p.page, p.missing)
		}
		if why != "" && !strings.Contains(p.missing[0].Text, why) {
			t.Errorf("%+v", p.missing)
		}
	}
}
