package users

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"plimsoll/internal/files"
	"plimsoll/internal/plain"
	"plimsoll/load/fleet/join"
	"plimsoll/plan"
)

// A Door leads agents on other hosts to this process.
type Door struct {
	// URL is tls://HOST:PORT of a cluster; empty for a server in this process, which listens at
	// Listen.
	URL, Listen string
	// Keys is the coordinator's key file.
	Keys string
}

// KeyFile returns the path of a store's key file.
func KeyFile(store string) string { return filepath.Join(store, "fleet.json") }

// ReadKeys reads a key file. An error is one of usage.
func ReadKeys(path string) (*join.Keys, error) {
	keys, err := join.ReadKeys(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, plan.Usagef("no agent is known: there is no key file %s; to make it with the "+
			"token of the first: plimsoll fleet -new-token FILE", path)
	}
	if err != nil {
		return nil, plan.UsageError{Err: err}
	}
	return keys, nil
}

// Open opens the door to the agents that the key file knows, until the hall is closed, and prints
// the command that an agent joins by. version is the program's; its secrets get the keys. say gets
// a line for each message that is refused, from any goroutine.
func (d Door) Open(version string, secrets *plain.Secrets, say func(string, ...any)) (*join.Hall,
	error) {
	keys, err := ReadKeys(d.Keys)
	if err != nil {
		return nil, err
	}
	secrets.Add(keys.Secrets()...)
	build, err := join.Build()
	if err != nil {
		return nil, err
	}
	c := join.HallConfig{Keys: keys, URL: d.URL, Build: build, Version: version, Say: say}
	if c.URL == "" {
		c.Listen = cmp.Or(d.Listen, join.DefaultListen)
	}
	hall, err := join.Open(c)
	if err == nil {
		say("agents join by: %s", JoinCommand(hall))
	}
	return hall, err
}

// JoinCommand returns the command that an agent needs. A server at all addresses of this host has
// no name that leads to it from everywhere: HOST stands for one.
func JoinCommand(h *join.Hall) string {
	addr := strings.NewReplacer("//[::]:", "//HOST:", "//0.0.0.0:", "//HOST:").Replace(h.Addr())
	return fmt.Sprintf("plimsoll agent -join %s -token-file FILE", addr)
}

// NewToken makes the token file of a new agent, and tells w the next command, and the agent's
// permissions for the administrator of a cluster.
func NewToken(w io.Writer, keyFile, tokenFile string) error {
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
	_, err = plain.Fprintf(
		w,
		"agent %s: bring %s to its host by a way that nobody else reads, and "+
			"run there: plimsoll agent -join nats://HOST:PORT -token-file %s\n"+
			"on a cluster of your own it needs: %s\nand the coordinator: %s\n",
		a.Name,
		tokenFile,
		tokenFile,
		a.Permissions(),
		own,
	)
	return err
}

// A Roll lists who has joined a fleet. No list is nil.
type Roll struct {
	Members []join.Member `json:"members"`
	Missing []string      `json:"missing"` // a line for each
}

// CallRoll opens the door as [Door.Open] does, waits until all known agents have answered, or for
// some time, and closes it.
func (d Door) CallRoll(ctx context.Context, wait time.Duration, version string,
	secrets *plain.Secrets, say func(string, ...any)) (Roll, error) {
	hall, err := d.Open(version, secrets, say)
	if err != nil {
		return Roll{}, err
	}
	defer hall.Close()
	members, err := hall.Await(ctx, wait, func([]join.Member) bool {
		return len(hall.Missing()) == 0
	})
	if err != nil && !errors.Is(err, join.ErrMissing) {
		return Roll{}, err
	}
	r := Roll{Members: append([]join.Member{}, members...), Missing: []string{}}
	for _, m := range hall.Missing() {
		r.Missing = append(r.Missing, m.String())
	}
	return r, nil
}

// Text writes a line for each agent, with what its host lacks below it.
func (r Roll) Text(w io.Writer) error {
	var b strings.Builder
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	plain.Fprintf(tw, "agent\thost\tcores\topen files\trated users\tclock ahead\tgive or "+
		"take\tversion\tlabels\tproblems\n")
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
		plain.Fprintf(tw, "%s%s\t%s\t%d\t%d\t%s\t%v\t%v\t%s\t%s\t%d\n",
			m.Name, busy, m.Host, m.Cores, m.Files, rated, m.Offset.Round(time.Microsecond),
			m.Error.Round(time.Microsecond),
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
