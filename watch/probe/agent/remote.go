package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"plimsoll/watch/probe"
	"plimsoll/watch/series"
)

// Bounds of an answer, in bytes and samples.
const (
	mostBody    = 16 << 20
	mostSamples = 50_000
)

// RemoteConfig configures a [Remote].
type RemoteConfig struct {
	// Ask leads to [Readers.Answer] of another host. No two readers of one agent have the same
	// name.
	Ask func(ctx context.Context) ([]byte, error)
	// Role is the one that the agent must have; Instance distinguishes agents of one role.
	Role, Instance string
}

// Remote is the probe of another host, which [Readers] answer for. Its samples are those of the
// answer with the label instance added, and
//
//	plimsoll_agent_clock_offset_seconds    by how much that host's wall clock is ahead of ours
//	plimsoll_agent_round_trip_seconds      time on the way when that was measured, twice its error
//
//	plimsoll_agent_cpu_seconds_total       time of the cores that the agent reports, of all modes
//	plimsoll_agent_cpu_busy_seconds_total  of that, all but idle and iowait; stolen time counts as busy
//
// Of the last eight answers the one with the shortest round trip gives offset and round trip.
//
// The samples belong to the time at which Sample was called: they were read between then and its
// return, so they are late by less than that. It is for one goroutine.
type Remote struct {
	conf   RemoteConfig
	probes map[string]bool // that the agent had before

	clocks [8]clock // the last ones
	n      int
}

// A clock is one measurement of how far two clocks are apart.
type clock struct{ offset, way time.Duration }

// NewRemote makes the probe.
func NewRemote(c RemoteConfig) *Remote { return &Remote{conf: c, probes: map[string]bool{}} }

// Name returns "agent" and the instance.
func (r *Remote) Name() string { return "agent " + r.conf.Instance }

// best returns the measurement of the shortest way among the last ones (RFC 5905, section 8).
func (r *Remote) best() clock {
	best := clock{way: math.MaxInt64}
	for _, c := range r.clocks[:min(r.n, len(r.clocks))] {
		if c.way < best.way {
			best = c
		}
	}
	return best
}

// Sample asks the agent.
func (r *Remote) Sample(ctx context.Context, _ time.Time) ([]series.Sample, error) {
	sent := time.Now()
	body, err := r.conf.Ask(ctx)
	came := time.Now()
	if err != nil {
		return nil, err
	}
	var a Reply
	switch err := json.Unmarshal(body, &a); {
	case len(body) > mostBody:
		return nil, fmt.Errorf("the agent's answer is larger than %d MiB", mostBody>>20)
	case err != nil:
		return nil, errors.New("the agent's answer cannot be read")
	case a.Role != r.conf.Role:
		return nil, fmt.Errorf("the agent there has the role %s, and the plan says %s; "+
			"start it with -role %[2]s, or change the plan", a.Role, r.conf.Role)
	case a.Refused != "":
		return nil, fmt.Errorf("the agent has no answer: %s", a.Refused)
	case len(a.Samples) > mostSamples:
		return nil, fmt.Errorf("the agent's answer has more than %d samples", mostSamples)
	}
	own := probe.Labels("instance", r.conf.Instance)
	var cpu, busy float64
	for i := range a.Samples {
		s := &a.Samples[i]
		if err := check(*s); err != nil {
			return nil, fmt.Errorf("the agent's answer cannot be read: sample %d: %w", i+1, err)
		}
		if s.Name == "node_cpu_seconds_total" && label(*s, "role") == r.conf.Role {
			cpu += s.Value
			if mode := label(*s, "mode"); mode != "idle" && mode != "iowait" {
				busy += s.Value
			}
		}
		s.Labels = append(s.Labels, own...)
		slices.SortFunc(s.Labels, byName)
	}
	r.clocks[r.n%len(r.clocks)] = between(sent, came, a)
	r.n++
	c := r.best()
	of := probe.Labels("instance", r.conf.Instance, "role", r.conf.Role)
	out := a.Samples
	add := func(name string, v float64) { out.Add("plimsoll_agent_"+name, of, v) }
	add("clock_offset_seconds", c.offset.Seconds())
	add("round_trip_seconds", c.way.Seconds())
	if cpu > 0 {
		add("cpu_seconds_total", cpu)
		add("cpu_busy_seconds_total", busy)
	}
	return out, r.failures(a)
}

// failures are of the probes there, and of probes that are there no more.
func (r *Remote) failures(a Reply) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(a.Failures)) {
		errs = append(errs, fmt.Errorf("its probe %s fails there: %s", name, a.Failures[name]))
	}
	for name := range r.probes {
		if !slices.Contains(a.Probes, name) {
			const why = "its probe %s is there no more; was it started anew with other flags?"
			errs = append(errs, fmt.Errorf(why, name))
		}
	}
	for _, name := range a.Probes {
		r.probes[name] = true
	}
	return errors.Join(errs...)
}

// Names as probes give them.
var (
	metricName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
	labelName  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
)

// check refuses a sample that no probe has.
func check(s series.Sample) error {
	if !metricName.MatchString(s.Name) {
		return fmt.Errorf("%.100q is no name of a metric", s.Name)
	}
	role := false
	for i, l := range s.Labels {
		switch {
		case !labelName.MatchString(l.Name):
			return fmt.Errorf("%.100q is no name of a label", l.Name)
		case l.Name == "instance" || label(series.Sample{Labels: s.Labels[:i]}, l.Name) != "":
			return fmt.Errorf("it has a label %q already", l.Name)
		}
		role = role || l.Name == "role" && l.Value != ""
	}
	if !role {
		return fmt.Errorf("%s has no role", s.Name)
	}
	return nil
}

func byName(a, b series.Label) int { return strings.Compare(a.Name, b.Name) }

// between takes the offset from the four instants of a question, as RFC 5905 does in its section 8.
// The wall clocks are only compared with each other, never with a monotonic one.
func between(sent, came time.Time, a Reply) clock {
	sent, came = sent.Round(0), came.Round(0)
	return clock{
		offset: (a.Received.Sub(sent) + a.Replied.Sub(came)) / 2,
		way:    max(0, came.Sub(sent)-a.Replied.Sub(a.Received)),
	}
}

// label returns the value of a sample's label, or "".
func label(s series.Sample, name string) string {
	for _, l := range s.Labels {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}
