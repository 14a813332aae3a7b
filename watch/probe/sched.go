package probe

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
)

// schedstat reads /proc/schedstat: how long tasks ran on each core, and how long they waited in its
// run queue.
type schedstat struct{ labels named }

func (s *schedstat) parse(text []byte, k *sink) error {
	s.labels.label = "cpu"
	found := false
	for line := range lines(text) {
		f := fields(line)
		id, ok := bytes.CutPrefix(f.next(), []byte("cpu"))
		if !ok {
			continue
		}
		if n, err := number(id); err != nil || n > 1<<16 {
			return fmt.Errorf("line %.60q: core number: %w", line, errNumber)
		}
		// Versions 14 to 17 have six columns of scheduler calls, then nanoseconds run and waited,
		// and time slices.
		var v [9]uint64
		for i := range v {
			var err error
			if v[i], err = f.number(); err != nil {
				return fmt.Errorf("line %.60q: %w", line, err)
			}
		}
		ls := s.labels.get(id)
		k.add("node_schedstat_running_seconds_total", ls, float64(v[6])/1e9)
		k.add("node_schedstat_waiting_seconds_total", ls, float64(v[7])/1e9)
		k.add("node_schedstat_timeslices_total", ls, float64(v[8]))
		found = true
	}
	if !found {
		return errors.New("no line of a core")
	}
	return nil
}

// parseSockstat6 reads /proc/net/sockstat6; sockets of both versions share everything but the count
// in use.
func parseSockstat6(text []byte, k *sink) error {
	for line := range lines(text) {
		rest, ok := bytes.CutPrefix(line, []byte("TCP6: inuse "))
		if !ok {
			continue
		}
		return one(k, "node_sockstat_TCP6_inuse", fields(rest))
	}
	return errAbsent
}

// conntrackWant are the columns of /proc/net/stat/nf_conntrack that show a full or broken table.
var conntrackWant = newTable(columns("node_nf_conntrack_stat_",
	"found invalid insert insert_failed drop early_drop search_restart", "", 1)).want

func parseConntrack(text []byte, k *sink) error {
	header, text, _ := bytes.Cut(text, newline)
	var sum [32]uint64
	rows := 0
	for line := range lines(text) {
		f := fields(line)
		for i := range sum {
			w := f.next()
			if len(w) == 0 {
				break
			}
			v, err := hex(w)
			if err != nil {
				return fmt.Errorf("line %d: %w", rows+2, err)
			}
			sum[i] += v
		}
		rows++
	}
	if rows == 0 {
		return errors.New("no line of a core")
	}
	found := false
	names := fields(header)
	done := make([]string, 0, 8)
	for i := range sum {
		w := names.next()
		c, ok := conntrackWant[string(w)]
		if !ok {
			continue
		}
		if slices.Contains(done, c.name) {
			return fmt.Errorf("column %s is there twice", w)
		}
		done = append(done, c.name)
		k.add(c.name, nil, float64(sum[i]))
		found = true
	}
	if !found {
		return errors.New("no known column")
	}
	return nil
}
