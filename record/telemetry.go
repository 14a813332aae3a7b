package record

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"time"

	"plimsoll/load/measure"
)

// Files of a target's own telemetry about the requests of a run: windows as in [WindowsFile], by
// the seconds in which the target answered, and the count of its records.
const (
	TelemetryFile        = "telemetry.json"
	TelemetryWindowsFile = "telemetry.hdr"
)

// TelemetryVersion is the version of TelemetryFile.
const TelemetryVersion = 1

// Telemetry accounts for the records that a target keeps of its requests. Records is the sum of
// Taken, Before and the counts in Left.
type Telemetry struct {
	Format  int   `json:"format"`
	Records int64 `json:"records"`
	// Taken counts the records in the windows, Before the requests that were answered before the
	// run's epoch.
	Taken  int64 `json:"taken"`
	Before int64 `json:"before"`
	// Left counts the records that are in no window, by reason: late, duplicate, garbled, ahead,
	// untracked.
	Left map[string]int64 `json:"left,omitempty"`
	// Missing are records that the target numbered and that never came.
	Missing int64 `json:"missing"`
	// Note is a remark for the reader.
	Note string `json:"note,omitempty"`
}

// Telemetry writes the target's telemetry: windows by second from the run's epoch, ascending. It is
// called once.
func (w *Writer) Telemetry(t Telemetry, seconds iter.Seq2[int, []*measure.Window]) (err error) {
	t.Format = TelemetryVersion
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return os.ErrClosed
	}
	f, err := w.disk.Create(filepath.Join(w.dir, TelemetryWindowsFile), false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	ww, err := NewWindowWriter(f)
	if err != nil {
		return err
	}
	for second, windows := range seconds {
		if err := ww.Write(second, windows); err != nil {
			return fmt.Errorf("%s: second %d: %w", TelemetryWindowsFile, second, err)
		}
	}
	return w.json(TelemetryFile, t)
}

// Telemetry reads the account of the target's records; nil for a run without any.
func (r *Run) Telemetry() (*Telemetry, error) {
	return readOptional(r, TelemetryFile, TelemetryVersion, func(t *Telemetry) int {
		return t.Format
	})
}

// EachTelemetrySecond is EachSecond of the target's telemetry. It is for runs that have one.
func (r *Run) EachTelemetrySecond(fn func(second int, ws []*measure.Window) bool) error {
	_, err := r.eachSecond(TelemetryWindowsFile, fn)
	return err
}

// MergedTelemetry is Merged of the target's telemetry; nil for a run without one.
func (r *Run) MergedTelemetry(from, to time.Duration) (map[string]*measure.Window, error) {
	if t, err := r.Telemetry(); t == nil || err != nil {
		return nil, err
	}
	out := map[string]*measure.Window{}
	err := r.EachTelemetrySecond(func(second int, ws []*measure.Window) bool {
		at := time.Duration(second) * time.Second
		if at < from || at >= to {
			return at < to
		}
		for _, w := range ws {
			mergeInto(out, w)
		}
		return true
	})
	return out, err
}
