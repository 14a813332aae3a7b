package preflight

import (
	"io"
	"strings"

	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/watch/probe"
)

// HostRoles returns the parts that a host can play in a test.
func HostRoles() []string { return probe.Roles }

// A Checkup lists what was found on this host for a role, the worst first.
type Checkup struct {
	Role     string              `json:"role"`
	Findings []probe.HostFinding `json:"findings"`
}

// Examine examines this host for a role of [HostRoles] and changes nothing. Another role is a
// [plan.UsageError].
func Examine(role string) (Checkup, error) {
	findings, err := probe.Doctor(role)
	if err != nil {
		return Checkup{}, plan.Usagef("-role: %w", err)
	}
	return Checkup{role, findings}, nil
}

// Text writes the findings for people, and a line of counts. What is good is left out unless all is
// set.
func (c Checkup) Text(w io.Writer, all bool) error {
	counts := map[probe.Severity]int{}
	var b strings.Builder
	for _, f := range c.Findings {
		counts[f.Severity]++
		if f.Severity == probe.Good && !all {
			continue
		}
		plain.Fprintf(&b, "%-8s %s: %s", f.Severity, f.Check, f.Have)
		if f.Want != "" && f.Severity != probe.Good {
			plain.Fprintf(&b, ", want %s", f.Want)
		}
		b.WriteByte('\n')
		if f.Why != "" && f.Severity != probe.Unknown {
			plain.Fprintf(&b, "         %s\n", f.Why)
		}
		if f.Fix != "" {
			plain.Fprintf(&b, "         fix: %s\n", f.Fix)
		}
	}
	plain.Fprintf(
		&b,
		"\nas %s: %d problems, %d pieces of advice, %d unknown, %d good\n",
		c.Role,
		counts[probe.Problem],
		counts[probe.Advice],
		counts[probe.Unknown],
		counts[probe.Good],
	)
	_, err := w.Write([]byte(b.String()))
	return err
}
