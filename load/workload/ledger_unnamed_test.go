package workload

import (
	"fmt"
	"testing"
)

// TestAcknowledgmentsThatNameNoMessageAreCounted checks acknowledgments without an id: such a message cannot be
// looked up, and the audit does not expect it.
func TestAcknowledgmentsThatNameNoMessageAreCounted(t *testing.T) {
	ack := func(l *lines, ids ...string) {
		for i, id := range ids {
			l.l.Acked(Message{ID: id, Channel: fmt.Sprint("c", i%2), Sent: l.at(i), Acked: l.at(i + 1)})
		}
	}
	for _, tt := range []struct {
		name string
		ids  []string
		want LedgerCount
		left int
	}{
		{"named", []string{"a", "b", "c"}, LedgerCount{Acked: 3}, 3},
		{"without a name", []string{"a", "", "", "b"}, LedgerCount{Acked: 2, Unnamed: 2}, 2},
		{"of the same name", []string{"a", "b", "a"}, LedgerCount{Acked: 3, Repeated: 1}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			one := newLines()
			ack(one, tt.ids...)
			part, whole := newLines(), newLines().l
			part.l.Share()
			ack(part, tt.ids...)
			whole.Gather(1, part.l.Outbox(), part.l.Count())
			for name, l := range map[string]*Ledger{"one process": one.l, "an agent": whole} {
				if got := l.Count(); got != tt.want {
					t.Errorf("%s: %+v, want %+v", name, got, tt.want)
				}
				list, _ := l.Messages()
				n := 0
				for _, m := range list {
					n += len(m.IDs)
				}
				if n != tt.left {
					t.Errorf("%s: %d messages to look for, want %d", name, n, tt.left)
				}
			}
		})
	}
}
