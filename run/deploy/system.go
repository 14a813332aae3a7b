package deploy

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"plimsoll/dialect"
	"plimsoll/load/engine"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/run/deploy/sandbox"
	"plimsoll/run/sharedhost"
	"plimsoll/target"
	"plimsoll/target/container"
	"plimsoll/watch/probe"
)

// OpTimeout ends an operation of a simulated user: the web application's own patience with an API
// call.
const OpTimeout = 5 * time.Second

// A System is one arm on one database: deployed and provisioned. Between runs it is halted, so that
// it uses neither the cores nor the memory of the system under test. [Deployments.Close] stops it.
type System struct {
	Deployment target.Deployment
	// Ready is a URL, or a path of the server's, that answers when the server is ready.
	Ready string
	// Dir is the directory of its files, if these are on this host.
	Dir string
	// Mix holds the behaviors of its users, the main one first.
	Mix []engine.Part
	// Probes are the plan's probes of its arm, and Metrics its Prometheus server.
	Probes  []plan.Probe
	Metrics plan.MetricsServer
	// Device is the network device towards it, "lo" when it is on this host. Config.Survey sets it.
	Device string
	// Installation is set if the plan has commands for its target; [System.Reset] is not used then.
	Installation *Installation
	// Local is the part of a target of others that runs on this host; nil if there is none.
	// Placement is its last reported place.
	Local     *sharedhost.Resident
	Placement string
	// InTurns is true in a duet: nothing of others is paused, and a probe would count the turns of
	// the other arms.
	InTurns bool

	of      *Resolver
	plan    *plan.Plan
	secrets func(name string) string
	box     *sandbox.Sandbox
}

// Reset puts the system's state back, or does nothing where it has none: its description, and so
// the report, states that.
func (s *System) Reset(ctx context.Context) error {
	err := s.Deployment.Reset(ctx)
	if errors.Is(err, target.ErrNoReset) {
		return nil
	}
	return err
}

// Halt stops the programs of the system until its next reset, within ten seconds, also with an
// ended context. A target of others goes on.
func (s *System) Halt(ctx context.Context) error {
	h, ok := s.Deployment.(interface {
		Halt(ctx context.Context) error
	})
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return h.Halt(ctx)
}

// DSN returns the address of the system's own database, password included; empty without one. It
// changes at Reset.
func (s *System) DSN() string {
	if d, ok := s.Deployment.(interface{ DSN() string }); ok {
		return d.DSN()
	}
	return ""
}

// ReplicaDSNs returns the addresses of the copies of its database, passwords included. They change
// at Reset.
func (s *System) ReplicaDSNs() []string {
	if d, ok := s.Deployment.(interface{ ReplicaDSNs() []string }); ok {
		return d.ReplicaDSNs()
	}
	return nil
}

// A Proxy is a server before the instances. It has a page of its connections and a log of its
// upstreams.
type Proxy interface {
	Status() string
	Log() string
}

// Proxy returns the system's own proxy; nil without one. It changes at Reset.
func (s *System) Proxy() Proxy {
	d, ok := s.Deployment.(interface{ Proxy() target.Companion })
	if !ok {
		return nil
	}
	p, _ := d.Proxy().(Proxy) // nil is none
	return p
}

// HideSecrets adds the secrets of a system that has been deployed or reset to the hidden secrets of
// its environment.
func (s *System) HideSecrets() {
	s.of.Hide(s.DSN())
	s.of.Hide(s.ReplicaDSNs()...)
}

// Wired reports whether the packets of the system go over separate network devices.
func (s *System) Wired() bool { return s.box.Wired() }

// Stacks returns probes of the network counters of the system's hosts, see
// [sandbox.Sandbox.Stacks].
func (s *System) Stacks() ([]*probe.Stack, error) { return s.box.Stacks() }

// Roles returns the processes to watch.
func (s *System) Roles() []probe.Role {
	var out []probe.Role
	for _, role := range slices.Sorted(maps.Keys(s.Deployment.PIDs())) {
		out = append(out, probe.Role{
			Name: role,
			PIDs: func() []int { return s.Deployment.PIDs()[role] },
			CPU:  s.box.CPU(role),
		})
	}
	if !s.InTurns {
		for _, role := range s.Local.Roles() {
			out = append(out, probe.Role{
				Name: role,
				PIDs: func() []int { return s.Local.PIDs(role) },
			})
		}
	}
	return out
}

// Named returns the processes of this host that the plan names, by role.
func (s *System) Named(ctx context.Context) (map[string][]int, error) {
	out := map[string][]int{}
	for i, p := range s.Probes {
		if !p.OfProcess() {
			continue
		}
		pid := p.PID
		if p.Kind == plan.ProbeContainer {
			var err error
			if pid, err = container.Find(ctx, p.Container); err != nil {
				return nil, plan.Usagef("probes[%d]: %w", i, err)
			}
		}
		if probe.Command(pid) == "" {
			return nil, plan.Usagef(
				"probes[%d].pid: there is no process %d on this host; want the "+
					"number of the server's first process",
				i,
				pid,
			)
		}
		out[p.Role] = append(out[p.Role], pid)
	}
	return out, nil
}

// Env returns the environment that the users of a run on the system share, without a recorder.
func (s *System) Env() workload.Env { return s.envAt(s.Deployment) }

func (s *System) envAt(at target.Endpoint) workload.Env {
	p := s.plan
	return workload.Env{
		URL:     at.URL(),
		URLs:    at.URLs(),
		HTTP2:   p.Target.HTTP == plan.HTTP2,
		Seed:    p.Seed,
		Pace:    p.Workload.Pace,
		Cold:    p.Workload.Login == plan.LoginCold,
		Params:  s.of.Params(p, s.secrets),
		Secret:  s.secrets,
		Secrets: s.of.Secrets,
		Timeout: OpTimeout,
		Mix:     p.Workload.ActionMix,
		Weights: s.of.Dialects.Weights(p.Workload),
		Tally:   new(workload.Tally),
		Ledger:  workload.NewLedger(0, p.Seed),

		Script:    p.Workload.Bundle,
		Variables: s.of.Variables(p, s.secrets),
	}
}

// Mix returns the behaviors of a plan, the main one first.
func Mix(speaks dialect.Set, p *plan.Plan) ([]engine.Part, error) {
	mix := p.Workload.Mix()
	names := slices.Sorted(maps.Keys(mix))
	if i := slices.Index(names, p.Workload.Behavior); i > 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, p.Workload.Behavior)
	}
	if err := speaks.CheckSettings(names, p.Workload.Params); err != nil {
		return nil, plan.Usagef("workload.params: %w", err)
	}
	behaviors := speaks.Behaviors()
	var parts []engine.Part
	for _, n := range names {
		parts = append(parts, engine.Part{Name: n, Behavior: behaviors[n](), Share: mix[n]})
	}
	return parts, nil
}

// An Unprovisioned deployment stands for one that could not be provisioned: each reset fails.
type Unprovisioned struct {
	target.Deployment // nil
	Spec              target.Spec
	Cause             error
}

// Reset implements [target.Deployment]: it returns the cause.
func (u Unprovisioned) Reset(context.Context) error { return u.Cause }

// Describe implements [target.Deployment].
func (u Unprovisioned) Describe() target.Description {
	return target.Description{
		Name:      u.Spec.Name,
		Driver:    u.Spec.Driver,
		Version:   u.Spec.Version,
		Instances: max(1, u.Spec.Instances),
		CPUs:      u.Spec.CPUs,
		Engine:    u.Spec.Engine,
		Dataset:   u.Spec.Dataset,
	}
}

// endPatience bounds the end of a system's programs, and then the removal of its networks and
// control groups.
const endPatience = 15 * time.Second

// end stops the programs of a system and then removes what they were in.
func (s *System) end() error {
	return errors.Join(s.Local.End(), inTurn(s.Deployment.Stop, s.box.Close))
}

// inTurn calls functions one after another, each within its own time: a function is called also
// when the one before took all of its time.
func inTurn(steps ...func(context.Context) error) error {
	var errs []error
	for _, f := range steps {
		ctx, cancel := context.WithTimeout(context.Background(), endPatience)
		errs = append(errs, f(ctx))
		cancel()
	}
	return errors.Join(errs...)
}
