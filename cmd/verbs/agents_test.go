package verbs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/record"
)

// onlyRun opens the one run of a store, with its events.
func onlyRun(t *testing.T, root string) (*record.Run, []record.Event) {
	t.Helper()
	st := storeOf(t, root)
	entries, _, err := st.List(context.Background())
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d runs, %v", len(entries), err)
	}
	r, err := st.Run(entries[0].ID)
	failure.None(t, err)
	events, err := r.Events()
	failure.None(t, err)
	return r, events
}

// joined returns the process numbers of the agents that a run's events name.
func joined(t *testing.T, events []record.Event) (pids []int) {
	t.Helper()
	for _, e := range events {
		var k, n, pid int
		if _, err := fmt.Sscanf(e.Text, "agent %d of %d joined: process %d", &k, &n, &pid); e.Kind == "agent" &&
			err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func ended(pids []int) bool {
	return !slices.ContainsFunc(pids, func(pid int) bool {
		return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	})
}

// inTwoProcesses: users in two processes write to each other, and the run is one: its operations,
// messages and mix are those of all.
func inTwoProcesses(t *testing.T, r *record.Run, events []record.Event) {
	t.Helper()
	pids := joined(t, events)
	if r.Manifest.Processes != 2 || len(pids) != 2 || pids[0] == pids[1] || !ended(pids) {
		t.Errorf("%d processes %v, ended: %v", r.Manifest.Processes, pids, ended(pids))
	}
	for _, e := range events {
		if e.Kind == "error" {
			t.Errorf("error: %s", e.Text)
		}
	}
	m, err := r.Merged(0, time.Hour)
	failure.None(t, err)
	u, err := r.Users()
	if err != nil || u == nil {
		t.Fatalf("no account of the users: %v", err)
	}
	// 5 posters write twice a second for 7 s; 5 persons receive their posts.
	if m["post"].Count() < 30 || m["post"].Errors() > 0 ||
		int64(m["post"].Count()) != u.Whole.Acked {
		t.Errorf(
			"%d posts, %d errors, %d acknowledged",
			m["post"].Count(),
			m["post"].Errors(),
			u.Whole.Acked,
		)
	}
	if w := u.Whole; w.Seen < w.Acked*3 || w.Lost+w.Late+w.Duplicated+w.Misordered+w.Foreign != 0 {
		t.Errorf("messages: %+v", w)
	}
	if d := m["delivery"]; d == nil || int64(d.Count()) < u.Whole.Seen*9/10 ||
		d.Response.Quantile(0.5) > time.Second {
		t.Errorf("deliveries: %+v", d)
	}
	if u.Audit == nil || u.Audit.Missing > 0 || u.Audit.Readable < int(m["post"].Count())/2 {
		t.Errorf("audit: %+v", u.Audit)
	}
	if a := r.Manifest.Answers; a == nil || a.Held == 0 || a.Held > a.Budget ||
		len(a.Findings()) > 0 {
		t.Errorf("answers under way: %+v", a)
	}
	if len(u.Mixes) != 2 || u.Mixes[0].Attempts == 0 || u.Mixes[1].Attempts == 0 {
		t.Errorf("mixes: %+v", u.Mixes)
	}
	var gates []string
	for _, g := range r.Validity.Gates {
		if g.Level == record.NotMeasured &&
			slices.Contains(
				[]string{"cpu", "sched", "pause", "gc", "fds", "ports", "clock", "lag", "little"},
				g.Name,
			) {
			gates = append(gates, g.Name+": "+g.Why)
		}
	}
	if len(gates) > 0 {
		t.Errorf("gates not measured: %s", strings.Join(gates, "; "))
	}
}
