package workload

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"plimsoll/internal/race"
)

// inSample is the rule of the sample, written again: k low bits of FNV-1a are zero.
func inSample(salt uint64, id string, k int) bool {
	h := 14695981039346656037 ^ salt
	for _, b := range []byte(id) {
		h ^= uint64(b)
		h *= 1099511628211
	}
	return (h^h>>32)<<(64-k) == 0
}

// spooled is one message of those that tests of the spool write: every third answers an earlier
// one.
func (x *lines) spooled(i int) Message {
	m := Message{
		ID:      fmt.Sprintf("id %d\n\x00", i),
		Channel: fmt.Sprint("c", i%7),
		Author:  -1,
		Sent:    x.at(i),
		Acked:   x.at(i),
	}
	if i%3 == 0 && i >= 7 {
		m.Root = fmt.Sprintf("id %d\n\x00", i-7)
	}
	return m
}

// Whether the ids are in a file or not, in part or all, the audit is given the same: in order,
// without those that were deleted, and a sample by the rule.
func TestSpool(t *testing.T) {
	const messages = 5000
	for _, tt := range []struct {
		name   string
		most   int64
		before func(t *testing.T, l *Ledger)
		half   func(t *testing.T, l *Ledger) // after half of them
		file   bool
		held   bool
	}{
		{name: "in a file", most: mostAcked, file: true},
		{name: "a sample, in a file", most: 700, file: true},
		{name: "a sample of one", most: 1, file: true},
		{name: "exactly as many as are kept", most: messages, file: true},
		{name: "one too many", most: messages - 1, file: true},
		{name: "no directory", most: mostAcked, before: noTemporary, held: true},
		{name: "a sample, and no directory", most: 700, before: noTemporary, held: true},
		{
			name: "the disk is full after half of them",
			most: mostAcked,
			half: fullDisk,
			file: true,
			held: true,
		},
		{
			name: "a sample, and the disk is full after half of them",
			most: 700,
			half: fullDisk,
			file: true,
			held: true,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("TMPDIR", dir)
			x := newLines()
			l := x.l
			l.spool.most = tt.most
			if tt.before != nil {
				tt.before(t, l)
			}
			var ids []string
			for i := range messages {
				if i%500 == 250 {
					l.Settle(x.at(i))
				}
				if i == messages/2 && tt.half != nil {
					l.Settle(x.at(i))
					tt.half(t, l)
				}
				m := x.spooled(i)
				ids = append(ids, m.ID)
				l.Acked(m)
				if i%100 == 14 {
					l.Deleted(m.Channel, m.ID)
				}
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("%v, %v are in the directory of temporary files", err, left)
			}
			count := func(k int) (n int64) {
				for _, id := range ids {
					if inSample(l.spool.salt, id, k) {
						n++
					}
				}
				return n
			}
			k := 0
			for count(k) > tt.most {
				k++
			}
			want := map[string][]string{}
			for i, id := range ids {
				m := x.spooled(i)
				gone := i%100 == 14 || m.Root != "" && (i-7)%100 == 14
				if !gone && inSample(l.spool.salt, id, k) {
					want[m.Channel] = append(want[m.Channel], id)
				}
			}
			for range 2 { // it can be asked again
				list, part := l.Messages()
				if part != 1/float64(int(1)<<k) || len(list) != len(want) ||
					!slices.IsSortedFunc(list, func(a, b AckedMessages) int {
						return strings.Compare(a.Channel, b.Channel)
					}) {
					t.Fatalf(
						"%v of the messages, in %d channels; want 1 in 2 to the power of %d, in %d",
						part,
						len(list),
						k,
						len(want),
					)
				}
				for _, m := range list {
					if !slices.Equal(m.IDs, want[m.Channel]) {
						t.Errorf("%s: %q, want %q", m.Channel, m.IDs, want[m.Channel])
					}
				}
			}
			if file, held := l.spool.end > 0, len(l.spool.held) > 0; file != tt.file ||
				held != tt.held ||
				cap(l.spool.fresh) > mostFresh {
				t.Errorf("%d bytes in a file, %d in memory", l.spool.end, len(l.spool.held))
			}
			l.Acked(x.spooled(messages))
			if _, part := l.Messages(); part > 1/float64(int(1)<<k) {
				t.Errorf("after one more, %v of the messages", part)
			}
		})
	}
}

// noTemporary names a directory for temporary files that does not exist, which root cannot write to
// either.
func noTemporary(t *testing.T, _ *Ledger) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
}

// fullDisk puts a copy of the spool's file in its place that can only be read.
func fullDisk(t *testing.T, l *Ledger) {
	name := filepath.Join(t.TempDir(), "copy")
	b := make([]byte, l.spool.end)
	if _, err := l.spool.file.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	must(t, os.WriteFile(name, b, 0o600))
	f, err := os.Open(name)
	must(t, err)
	l.spool.file = f
}

// Of a sample that is in memory because nothing else is there, no more is kept than of any.
func TestSpoolHoldsTheSampleAlone(t *testing.T) {
	noTemporary(t, nil)
	x := newLines()
	x.l.spool.most = 50
	most := 0
	for i := range 20_000 {
		x.l.Acked(x.spooled(i))
		if i%100 == 0 {
			x.l.Settle(x.at(i))
			n := 0
			for range records(bytes.NewReader(x.l.spool.held)) {
				n++
			}
			most = max(most, n)
		}
	}
	if most > 150 || most < 25 {
		t.Errorf("%d records are held, want those of 50 messages and of the hundred since", most)
	}
}

// What the disk does not give back is no part of what the audit has, and is not said to be.
func TestSpoolThatCannotBeRead(t *testing.T) {
	x := newLines()
	for i := range 1000 {
		x.l.Acked(x.spooled(i))
	}
	x.l.Settle(x.at(1000))
	must(t, x.l.spool.file.Truncate(x.l.spool.end/2))
	_, part := x.l.Messages()
	n := len(audited(x.l))
	if n < 400 || n > 600 || part != float64(n)/1000 {
		t.Errorf("%d messages as a part of %v", n, part)
	}
}

// Nobody settles: what is too much to wait is written by who acknowledges.
func TestSpoolWritesByItself(t *testing.T) {
	x := newLines()
	long := strings.Repeat("x", 3000)
	for i := range 3000 {
		x.l.Acked(Message{
			ID:      fmt.Sprint(long, i),
			Channel: "c",
			Author:  -1,
			Sent:    x.at(i),
			Acked:   x.at(i),
		})
	}
	if x.l.spool.end < 2*mostFresh || len(x.l.spool.fresh) >= mostFresh {
		t.Errorf("%d bytes are in the file, %d wait", x.l.spool.end, len(x.l.spool.fresh))
	}
	if list, part := x.l.Messages(); len(list) != 1 || len(list[0].IDs) != 3000 || part != 1 {
		t.Errorf("%v of %d channels", part, len(list))
	}
}

// Authors acknowledge while others settle and read. Each reading has a beginning of what each
// author wrote, in order.
func TestSpoolOfManyWriters(t *testing.T) {
	const writers, messages = 8, 1500
	x := newLines()
	x.l.spool.most = writers * messages / 4
	check := func(whole bool) {
		list, part := x.l.Messages()
		for _, c := range list {
			var last [writers]int
			for _, id := range c.IDs {
				var w, i int
				if _, err := fmt.Sscanf(id, "%d-%d", &w, &i); err != nil || i <= last[w] {
					t.Errorf("%s in %s after %d: %v", id, c.Channel, last[w], err)
					return
				}
				last[w] = i
			}
		}
		if whole {
			n, want := len(audited(x.l)), 0
			for w := range writers {
				for i := 1; i <= messages; i++ {
					if inSample(x.l.spool.salt, fmt.Sprintf("%d-%d", w, i), x.l.spool.k) {
						want++
					}
				}
			}
			if n != want || part > 0.25 {
				t.Errorf("%d messages, want %d, as a part of %v", n, want, part)
			}
		}
	}
	var authors, others sync.WaitGroup
	over := make(chan struct{})
	for w := range writers {
		authors.Go(func() {
			for i := 1; i <= messages; i++ {
				x.l.Acked(Message{
					ID:      fmt.Sprintf("%d-%d", w, i),
					Channel: fmt.Sprint("c", i%5),
					Author:  -1,
					Sent:    x.at(i),
					Acked:   x.at(i),
				})
			}
		})
	}
	for _, do := range []func(){func() { x.l.Settle(x.at(0)) }, func() { check(false) }} {
		others.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					do()
				}
			}
		})
	}
	authors.Wait()
	close(over)
	others.Wait()
	check(true)
}

// What a ledger keeps of a message until the end is not in memory.
func TestLedgerKeepsNoIDsInMemory(t *testing.T) {
	race.SkipBudget(t)
	x := newLines()
	n := 0
	take := func(messages int) (heap uint64) {
		for end := n + messages; n < end; n++ {
			x.l.Acked(Message{
				ID:      fmt.Sprintf("%026d", n),
				Channel: fmt.Sprint("c", n%50),
				Author:  -1,
				Sent:    x.at(10 * n),
				Acked:   x.at(10 * n),
			})
			if n%100 == 0 {
				x.l.Settle(x.at(10 * n))
			}
		}
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := take(5000)
	const messages = 200_000
	after := take(messages)
	if got := (float64(after) - float64(before)) / messages; got > 4 {
		t.Errorf("%.1f bytes in the heap for each of %d messages, want none", got, messages)
	}
	if list, part := x.l.Messages(); len(list) != 50 || len(list[0].IDs) != (messages+5000)/50 ||
		part != 1 {
		t.Errorf("%v of %d channels", part, len(list))
	}
}
