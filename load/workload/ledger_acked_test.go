package workload

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// A server deletes the answers to a message with it, also those that the deleting user does not
// know of.
func TestLedgerExpectsNoAnswersToWhatWasDeleted(t *testing.T) {
	messages := []Message{
		{ID: "r", Channel: "c"}, {ID: "a", Channel: "c", Root: "r"},
		{
			ID:      "kept one",
			Channel: "c",
		}, {
			ID:      "its answer",
			Channel: "c",
			Root:    "kept one",
		}, {ID: "another answer", Channel: "c", Root: "kept one"},
		{ID: "elsewhere", Channel: "d", Root: "r"}, // a name that only looks the same
	}
	for i := range messages {
		messages[i].Sent, messages[i].Acked = time.Now(), time.Now()
	}
	for _, tt := range []struct {
		name string
		do   func(l *Ledger)
	}{
		{"one process", func(l *Ledger) {
			for _, m := range messages {
				l.Acked(m)
			}
			l.Deleted("c", "r")
			l.Deleted("c", "another answer")
		}},
		{"answers of another process, told after the deletion", func(l *Ledger) {
			parts := []*Ledger{newLines().l, newLines().l}
			for _, p := range parts {
				p.Share()
			}
			for _, m := range messages {
				if m.Root == "" {
					parts[0].Acked(m)
				} else {
					parts[1].Acked(m)
				}
			}
			parts[0].Deleted("c", "r")
			parts[1].Deleted("c", "another answer")
			for k, p := range parts {
				l.Gather(k, p.Outbox(), p.Count())
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLines().l
			tt.do(l)
			got, _ := l.Messages()
			if len(got) != 2 || !slices.Equal(got[0].IDs, []string{"kept one", "its answer"}) ||
				!slices.Equal(got[1].IDs, []string{"elsewhere"}) {
				t.Errorf("%q, want those that nobody deleted, without what answers them", got)
			}
		})
	}
}

// The sample of answers does not depend on the messages that they answer, and keeps that relation.
func TestLedgerThinsAnswers(t *testing.T) {
	x := newLines()
	l := x.l
	l.spool.most = 20
	for i := range 200 {
		l.Acked(Message{
			ID:      fmt.Sprint("gone", i),
			Channel: "c",
			Root:    "r",
			Sent:    x.at(i),
			Acked:   x.at(i),
		})
		l.Acked(Message{
			ID:      fmt.Sprint("there", i),
			Channel: "c",
			Root:    "s",
			Sent:    x.at(i),
			Acked:   x.at(i),
		})
	}
	l.Deleted("c", "r")
	got, part := l.Messages()
	var want []string
	for i := range 200 {
		if id := fmt.Sprint("there", i); level(l.spool.salt, id) >= l.spool.k {
			want = append(want, id)
		}
	}
	if part == 1 || len(got) != 1 || len(want) == 0 || !slices.Equal(got[0].IDs, want) {
		t.Errorf("a sample of %v: %q, want %q", part, got, want)
	}
}
