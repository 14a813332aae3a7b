package rig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"plimsoll/internal/files"
	"plimsoll/internal/plain"
	"plimsoll/load/fleet/join"
	"plimsoll/plan"
)

// NewAgent makes the token file of a new agent, and tells w the next command, and the agent's permissions for the
// administrator of a cluster.
func NewAgent(w io.Writer, keyFile, tokenFile string) error {
	a, err := join.NewToken(files.OS{}, keyFile, tokenFile)
	if err != nil {
		return plan.UsageError{Err: err}
	}
	keys, err := join.ReadKeys(keyFile)
	if err != nil {
		return err
	}
	own, err := keys.Permissions()
	if err != nil {
		return err
	}
	_, err = plain.Fprintf(w, "agent %s: bring %s to its host by a way that nobody else reads, and run there: plimsoll agent -join nats://HOST:PORT -token-file %s\n"+
		"on a cluster of your own it needs: %s\nand the coordinator: %s\n", a.Name, tokenFile, tokenFile, a.Permissions(), own)
	return err
}

// A Roll is who has joined a fleet. No list is nil.
type Roll struct {
	Members []join.Member `json:"members"`
	Missing []string      `json:"missing"`
}

// CallRoll opens the door and waits until all known agents have answered, or for some time.
func (pr *Program) CallRoll(ctx context.Context, d FleetDoor, wait time.Duration, say func(string, ...any)) (Roll, error) {
	hall, err := pr.OpenFleet(d, say)
	if err != nil {
		return Roll{}, err
	}
	defer hall.Close()
	say("agents join by: %s", JoinCommand(hall))
	members, err := hall.Await(ctx, wait, func([]join.Member) bool { return len(hall.Missing()) == 0 })
	if err != nil && !errors.Is(err, join.ErrMissing) {
		return Roll{}, err
	}
	return Roll{Members: append([]join.Member{}, members...), Missing: append([]string{}, hall.Missing()...)}, nil
}

// Text writes a line for each agent, with what its host lacks below it.
func (r Roll) Text(w io.Writer) error {
	var b strings.Builder
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	plain.Fprintf(tw, "agent\thost\tcores\topen files\trated users\tclock ahead\tgive or take\tversion\tlabels\tproblems\n")
	for _, m := range r.Members {
		var labels []string
		for k, v := range m.Labels {
			labels = append(labels, k+"="+v)
		}
		busy := ""
		switch {
		case m.Role != "":
			busy = " (probes of " + m.Role + ")"
		case m.Busy:
			busy = " (in a run)"
		}
		rated := "-"
		if m.Rating != nil {
			rated = fmt.Sprint(m.Rating.Users)
		}
		plain.Fprintf(tw, "%s%s\t%s\t%d\t%d\t%s\t%v\t%v\t%s\t%s\t%d\n", m.Name, busy, m.Host, m.Cores, m.Files, rated, m.Offset.Round(time.Microsecond), m.Error.Round(time.Microsecond),
			m.Version, strings.Join(labels, ","), len(m.Findings))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, m := range r.Members {
		for _, f := range m.Findings {
			plain.Fprintf(&b, "agent %s: %s\n", m.Name, f)
		}
	}
	for _, line := range r.Missing {
		plain.Fprintf(&b, "%s\n", line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
