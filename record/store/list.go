package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/load/workload"
	"plimsoll/record"
)

// An Entry is a run in the index.
type Entry struct {
	ID         string       `json:"id"`
	Name       string       `json:"name"`
	Epoch      time.Time    `json:"epoch"`
	State      record.State `json:"state"`
	Valid      bool         `json:"valid"`
	Arm        string       `json:"arm"`
	Engine     string       `json:"engine"`
	Comparison string       `json:"comparison,omitempty"`
	Block      int          `json:"block,omitempty"`
	// CapacityKind is empty for a run without a search.
	CapacityKind string  `json:"capacity_kind,omitempty"`
	Capacity     float64 `json:"capacity,omitempty"`
	// Measured is nil for a run without a bounded test.
	Measured   *Measured `json:"measured,omitempty"`
	PlanDigest string    `json:"plan_digest"`
	// Exploratory describes the steering by a person; empty for a run that nobody steered.
	Exploratory string `json:"exploratory,omitempty"`
	// Changed are files that changed since the run was sealed; such a run is not valid. The series
	// are not checked.
	Changed []string `json:"changed_files,omitempty"`
}

// Measured holds the figures of the measured phase of a bounded test, over all operations of its
// steady state.
type Measured struct {
	Users  int     `json:"users"`
	Rate   float64 `json:"per_second"` // of operations that ended in the phase
	P95    float64 `json:"p95_ms"`     // response time
	Count  uint64  `json:"count"`
	Errors uint64  `json:"errors"`
}

// String returns the figures as one line.
func (m Measured) String() string {
	return fmt.Sprintf(
		"%d users, %.3g/s, p95 %.3g ms, errors %d of %d",
		m.Users,
		m.Rate,
		m.P95,
		m.Errors,
		m.Count,
	)
}

// List returns the runs, oldest first, and brings the index up to date. A directory that is not a
// run is skipped and named in the warnings, as is an altered comparison or sizing of a run. A run
// is held against its digests when it is new or the size or time of a file has changed. Where the
// index cannot be written, as on a full or read-only file system, there is a warning.
func (s *Store) List(ctx context.Context) (entries []Entry, warnings []error, err error) {
	dirs, err := entriesOf(filepath.Join(s.root, "runs"))
	if err != nil {
		return nil, nil, err
	}
	known := s.readIndex()
	now := map[string]indexed{}
	changed := false
	for _, d := range dirs {
		id := d.Name()
		stamp := s.stamp(id)
		one, ok := known[id]
		if !ok || one.Stamp != stamp || stamp == "" {
			one.Stamp = stamp
			if one.Entry, err = s.entry(ctx, id); err != nil {
				warnings = append(warnings, err)
			}
			if ok = err == nil && one.Entry.State != record.Running; ok { // else it is read again
				changed = true
			}
		}
		if ok {
			now[id] = one
		}
		if one.Entry.ID != "" {
			entries = append(entries, one.Entry)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, warnings, err
	}
	if changed || len(now) != len(known) {
		if err := s.writeIndex(now); err != nil {
			warnings = append(
				warnings,
				fmt.Errorf("store index: %w; the list was made without it", err),
			)
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(a.Epoch.Compare(b.Epoch), cmp.Compare(a.ID, b.ID))
	})
	return entries, append(warnings, s.altered(entries)...), nil
}

// entry reads a run. With an error it has no id, or the run could not be held against its digests
// and is not valid.
func (s *Store) entry(ctx context.Context, id string) (Entry, error) {
	if err := ctx.Err(); err != nil {
		return Entry{}, err
	}
	r, err := record.Open(s.runDir(id))
	if err != nil {
		return Entry{}, err
	}
	err = r.Look()
	e := entryOf(r)
	if err == nil && len(r.Changed) == 0 {
		e.Measured, err = measuredIn(r)
	}
	if err != nil {
		e.Valid = false
		err = fmt.Errorf("run %s: %w", id, err)
	}
	return e, err
}

// measuredIn reads the figures of a bounded test; nil if the run has none.
func measuredIn(r *record.Run) (*Measured, error) {
	ph, ok := r.Manifest.Phase("measure")
	if !ok {
		return nil, nil
	}
	windows, err := r.Merged(ph.From, ph.To)
	if err != nil {
		return nil, err
	}
	all := workload.Together("op", windows, workload.Steady)
	m := &Measured{
		Users:  ph.Users,
		P95:    all.Response.Quantile(.95).Seconds() * 1e3,
		Count:  all.Count(),
		Errors: all.Errors(),
	}
	if span := (ph.To - ph.From).Seconds(); span > 0 {
		m.Rate = float64(m.Count-min(ph.Tail.Of(workload.Steady).Drained, m.Count)) / span
	}
	return m, nil
}

// altered returns warnings about altered files of the comparisons and sizings of the runs.
func (s *Store) altered(entries []Entry) (warnings []error) {
	seen := map[string]bool{"": true}
	for _, e := range entries {
		if seen[e.Comparison] {
			continue
		}
		seen[e.Comparison] = true
		_, err := s.Comparison(e.Comparison)
		if errors.Is(err, ErrNotFound) {
			_, err = s.Sizing(e.Comparison)
		}
		if errors.Is(err, record.ErrAltered) {
			warnings = append(warnings, err)
		}
	}
	return warnings
}

// stamp changes whenever a file of a run does, except its series: size and time of each.
func (s *Store) stamp(id string) string {
	files, err := os.ReadDir(s.runDir(id))
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, f := range files {
		if !f.Type().IsRegular() {
			continue
		}
		fi, err := f.Info()
		if err != nil {
			return ""
		}
		fmt.Fprintf(&b, "%s %d %d\n", f.Name(), fi.Size(), fi.ModTime().UnixNano())
	}
	return b.String()
}

func entryOf(r *record.Run) Entry {
	m := r.Manifest
	e := Entry{
		ID:          m.ID,
		Name:        m.Name,
		Epoch:       m.Epoch,
		State:       m.State,
		Valid:       r.Validity.Valid,
		Arm:         m.Arm,
		Engine:      m.Engine,
		Comparison:  m.Comparison,
		Block:       m.Block,
		PlanDigest:  m.PlanDigest,
		Exploratory: m.Exploratory,
		Changed:     r.Changed,
	}
	if m.Capacity != nil {
		e.CapacityKind, e.Capacity = m.Capacity.Kind, m.Capacity.Users
	}
	return e
}
