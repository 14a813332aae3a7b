package record

import (
	"errors"
	"io/fs"
	"path/filepath"

	"plimsoll/load/measure"
)

// OmittedFile holds the operations that a run's users did not begin because they waited.
const OmittedFile = "omitted.hdr"

// LeastAchieved is the part of the intended operations below which latencies carry a mark.
const LeastAchieved = 0.99

// Kinds of schedules.
const (
	OfUsers    = "users"
	OfArrivals = "arrivals"
)

// A Schedule compares the operations that a phase should have seen, by the schedule of the users or
// of arrivals, with the operations that it saw.
type Schedule struct {
	Of       string  `json:"of"` // OfUsers or OfArrivals
	Achieved uint64  `json:"achieved"`
	Intended float64 `json:"intended"`
	// Unpaused is true if the users made no pauses and so had no schedule: the target set their
	// rate, and no omitted operations are known. Intended is 0.
	Unpaused bool `json:"without_pauses,omitempty"`
}

// Share is the achieved part of those intended; 1 where none was.
func (s *Schedule) Share() float64 {
	if s.Intended <= 0 {
		return 1
	}
	return min(float64(s.Achieved)/s.Intended, 1)
}

// Marked reports whether so few were achieved that latencies carry a mark. A schedule that was not
// recorded (nil) is not marked.
func (s *Schedule) Marked() bool { return s != nil && !s.Unpaused && s.Share() < LeastAchieved }

// Omitted writes the operations that were not begun in the measured phase, once. second is the
// phase's last.
func (w *Writer) Omitted(second int, ws []*measure.Window) error {
	f, err := w.disk.Create(filepath.Join(w.dir, OmittedFile), false)
	if err != nil {
		return err
	}
	ww, err := NewWindowWriter(f)
	if err == nil {
		err = ww.Write(second, ws)
	}
	return errors.Join(err, f.Close()) // the seal syncs it
}

// Omitted returns the operations that were not begun in the measured phase, by name: response times
// by the schedule, in no class. Together with the measured operations they give the response as if
// users had not waited. known is false for a run without this record.
func (r *Run) Omitted() (ws map[string]*measure.Window, known bool, err error) {
	ws = map[string]*measure.Window{}
	_, err = r.eachSecond(OmittedFile, func(_ int, of []*measure.Window) bool {
		for _, w := range of {
			mergeInto(ws, w)
		}
		return true
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return ws, true, nil
}
