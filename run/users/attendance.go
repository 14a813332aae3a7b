package users

import (
	"context"
	"io"
	"os"
	"runtime"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/load/fleet"
	"plimsoll/load/fleet/join"
	"plimsoll/plan"
	"plimsoll/watch/probe"
	"plimsoll/watch/probe/agent"
	"plimsoll/watch/series"
)

// An Attendance is this program as an agent of runs that another process leads. Labels and Watch
// may be nil.
type Attendance struct {
	// URL leads to the coordinator or the cluster, and TokenFile holds the token of this agent.
	URL, TokenFile string
	Labels         map[string]string
	// Watch selects the samples that a host without users sends, for its role; nil for a host with
	// users.
	Watch *agent.What

	Version string
	// Secrets gets the token.
	Secrets *plain.Secrets
	// Say reports to people, from any goroutine.
	Say func(format string, args ...any)
	// Rating returns the rating of a host with users, before it joins; nil if it has none.
	Rating func() *join.Rating
	// Sampler opens the probes of a host with users for one run, which read about once a second.
	Sampler func() (sample func(context.Context, time.Time) ([]series.Sample, error), end func(),
		err error)
}

// Attend joins until ctx ends, and has its part in one run after the other. Users end with the run
// that has them.
func (a Attendance) Attend(ctx context.Context) error {
	var readers *agent.Readers
	if a.Watch != nil {
		var err error
		if readers, err = agent.NewReaders(*a.Watch, a.Version); err != nil {
			return plan.UsageError{Err: err}
		}
		defer readers.Close()
	}
	token, err := join.ReadToken(a.TokenFile)
	if err != nil {
		return plan.UsageError{Err: err}
	}
	a.Secrets.Add(token.Secrets()...)
	build, err := join.Build()
	if err != nil {
		return err
	}
	in := a.introduction()
	c := join.AgentConfig{
		Token:     token,
		URL:       a.URL,
		Build:     build,
		Introduce: func() join.Introduction { return in },
		Say: func(format string, args ...any) {
			a.Say("agent "+token.Name+": "+format, args...)
		},
	}
	if readers != nil {
		in.Role = a.Watch.Role
		c.Sample = readers.Answer
	} else {
		in.Rating = a.Rating()
		c.Serve = a.serve
	}
	a.Say("agent %s: build %s", token.Name, build)
	return join.Attend(ctx, c)
}

// introduction describes this host to a coordinator.
func (a Attendance) introduction() join.Introduction {
	in := join.Introduction{Cores: runtime.NumCPU(), Version: a.Version, Labels: a.Labels}
	in.Host, _ = os.Hostname() // a name for people
	if l, err := probe.ReadLimits(); err == nil {
		in.Files = l.Files
	}
	findings, _ := probe.Doctor("agent") // a host that cannot be examined has none
	for _, f := range findings {
		if f.Severity == probe.Problem {
			in.Findings = append(in.Findings, f.Check+": "+f.Have)
		}
	}
	return in
}

// serve has the users of one run.
func (a Attendance) serve(ctx context.Context, session *join.Responder) error {
	sample, end, err := a.Sampler()
	if err != nil {
		return err
	}
	defer end()
	start := func(ctx context.Context, n int) ([]io.ReadWriteCloser, func(), error) {
		p, err := launch(ctx, n, nil, a.Say)
		if err != nil {
			return nil, nil, err
		}
		return p.links, func() { closeLinks(p.links); p.stop() }, nil
	}
	return fleet.ServeHost(ctx, session, session,
		fleet.HostAgent{Silent: session.Silent, Samples: sample, Launch: start})
}
