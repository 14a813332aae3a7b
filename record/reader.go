package record

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/built"
	"plimsoll/internal/files"
	"plimsoll/load/measure"
)

// A Run is a run directory opened for reading. Its methods read files and are safe for concurrent
// use.
type Run struct {
	Dir      string
	Manifest Manifest
	// Validity is the stored one; a run without validity.json (killed) gets a red finding, as does
	// one that was found changed since it was sealed ([Run.Distrust]).
	Validity Validity
	// Changed lists files found changed since the run was sealed: the manifest by Open, all others
	// by [Run.Distrust].
	Changed []string

	memo *memo
}

// A memo keeps the sums of one stretch: reports request the same several times, and each takes a
// pass over all histograms.
type memo struct {
	mu       sync.Mutex
	from, to time.Duration
	merged   map[string]*measure.Window
}

// ErrNotRun reports a directory that holds no run.
var ErrNotRun = errors.New("not a run directory")

// Open reads the manifest and validity of the run in dir. A killed or running run opens too and is
// not valid.
func Open(dir string) (*Run, error) {
	r := &Run{Dir: dir, memo: new(memo)}
	b, err := files.Read(filepath.Join(dir, ManifestFile), 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: it has no %s", dir, ErrNotRun, ManifestFile)
	}
	if err != nil {
		return nil, err
	}
	if err := built.NewerJSON(b, "", FormatVersion); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	if err := json.Unmarshal(b, &r.Manifest); err != nil {
		return nil, fmt.Errorf("%s: %w: %s: %w", dir, ErrNotRun, ManifestFile, err)
	}
	if f := r.Manifest.Format; f != FormatVersion {
		return nil, fmt.Errorf(
			"%s: %w: format %d, this version reads %d",
			dir,
			ErrNotRun,
			f,
			FormatVersion,
		)
	}
	altered, err := manifestAltered(b, r.Manifest.Digest)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", dir, ManifestFile, err)
	}
	b, err = files.Read(filepath.Join(dir, ValidityFile), 0)
	switch {
	case errors.Is(err, fs.ErrNotExist) && r.Ended():
		r.Distrust(ValidityFile)
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		if err := json.Unmarshal(b, &r.Validity); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", dir, ValidityFile, err)
		}
	}
	if !r.Ended() { // also when it was cut between its validity and its seal
		r.Validity.Add(Finding{
			Gate:  SealedGate,
			Level: Red,
			Text:  "the run was never sealed: it was killed or is still going",
		})
	}
	if altered {
		r.Distrust(ManifestFile)
	}
	return r, nil
}

// SealedGate is the finding of a run that was not sealed, or was changed since.
const SealedGate = "sealed"

// Distrust notes that files were changed after sealing: the run is not valid.
func (r *Run) Distrust(files ...string) {
	for _, f := range files {
		if !slices.Contains(r.Changed, f) {
			r.Changed = append(r.Changed, f)
		}
	}
	if len(files) == 0 {
		return
	}
	slices.Sort(r.Changed)
	r.Validity.Findings = slices.DeleteFunc(
		slices.Clone(r.Validity.Findings),
		func(f Finding) bool {
			return f.Gate == SealedGate
		},
	)
	r.Validity.Add(Finding{
		Gate:  SealedGate,
		Level: Red,
		Text:  "changed since the run was sealed: " + strings.Join(r.Changed, ", "),
	})
}

// Ended reports whether nothing of the run changes any more.
func (r *Run) Ended() bool { return r.Manifest.State == Sealed || r.Manifest.State == Interrupted }

// Look calls [Run.VerifyNumbers] and Distrust with the changed files; for a run that has not ended
// it does nothing.
func (r *Run) Look() error { return r.look(r.VerifyNumbers) }

// LookAtAll is Look with [Run.Verify].
func (r *Run) LookAtAll() error { return r.look(r.Verify) }

func (r *Run) look(verify func() ([]string, error)) error {
	if !r.Ended() {
		return nil
	}
	changed, err := verify()
	r.Distrust(changed...)
	return err
}

// EachSecond calls fn for every second of windows.hdr until it returns false. The windows are good
// until fn returns: the next second takes their memory. Merge the windows to keep them. truncated
// reports that the last second was cut short, as a kill leaves it; in a sealed run that is an error
// that wraps [ErrWindows].
func (r *Run) EachSecond(
	fn func(second int, ws []*measure.Window) bool,
) (truncated bool, err error) {
	return r.eachSecond(WindowsFile, fn)
}

// eachSecond is EachSecond of one of the run's files in the format of windows.hdr.
func (r *Run) eachSecond(
	name string,
	fn func(second int, ws []*measure.Window) bool,
) (truncated bool, err error) {
	f, err := files.Open(filepath.Join(r.Dir, name))
	if err != nil {
		return false, err
	}
	defer f.Close()
	truncated, err = readWindows(f, recycled(), fn)
	if err == nil && truncated && r.Manifest.State == Sealed {
		err = fmt.Errorf("%w: its end is missing, and the run was sealed", ErrWindows)
	}
	if err != nil {
		return truncated, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return truncated, nil
}

// Merged returns all ops whose second lies in [from, to), by name. A second belongs to the stretch
// that holds its beginning. A sealed run keeps its last answer and gives it again: the caller must
// not change the windows.
func (r *Run) Merged(from, to time.Duration) (map[string]*measure.Window, error) {
	merged, _, err := r.sums(from, to, nil, false, nil)
	return merged, err
}

// Sums returns Merged and Outside, in one pass, and hands every second of it to each, as EachSecond
// does; nil for none.
func (r *Run) Sums(
	from, to time.Duration,
	storms []StormOutcome,
	each func(second int, ws []*measure.Window),
) (map[string]*measure.Window, Outside, error) {
	return r.sums(from, to, storms, true, each)
}

func (r *Run) sums(
	from, to time.Duration,
	storms []StormOutcome,
	beside bool,
	each func(second int, ws []*measure.Window),
) (map[string]*measure.Window, Outside, error) {
	keep := r.memo != nil && r.Manifest.State == Sealed // others may still grow
	if keep {
		r.memo.mu.Lock()
		defer r.memo.mu.Unlock()
		if !beside && r.memo.merged != nil && r.memo.from == from && r.memo.to == to {
			return r.memo.merged, Outside{}, nil
		}
	}
	merged, out := map[string]*measure.Window{}, newOutside(storms)
	_, err := r.EachSecond(func(second int, ws []*measure.Window) bool {
		at := time.Duration(second) * time.Second
		if each != nil {
			each(second, ws)
		}
		if beside {
			out.add(second, ws, storms)
		}
		if at >= from && at < to {
			for _, w := range ws {
				mergeInto(merged, w)
			}
		}
		return beside || at < to
	})
	if keep && err == nil {
		r.memo.from = from
		r.memo.to = to
		r.memo.merged = merged
	}
	return merged, out, err
}

// mergeInto merges a window into the window of its name.
func mergeInto(into map[string]*measure.Window, w *measure.Window) {
	if into[w.Name] == nil {
		into[w.Name] = measure.NewWindow(w.Name)
	}
	into[w.Name].Merge(w)
}

// Events returns all events. A last line that was cut short is left out.
func (r *Run) Events() ([]Event, error) {
	f, err := files.Open(filepath.Join(r.Dir, EventsFile))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []Event
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	var bad error
	for line := 1; sc.Scan(); line++ {
		if bad != nil {
			return nil, bad
		}
		var e Event
		if err := json.Unmarshal(sc.Bytes(), &e); err != nil {
			bad = fmt.Errorf("%s:%d: %w", f.Name(), line, err)
			continue
		}
		out = append(out, e)
	}
	return out, sc.Err()
}

// Verify recomputes the digests of a sealed run and returns the files that changed, are missing or
// are new. A manifest of an earlier version has no digest; only its comparison can detect a change.
func (r *Run) Verify() ([]string, error) { return r.verify(all) }

// VerifyNumbers is Verify without the series, which are most of a run and have their own checksums.
func (r *Run) VerifyNumbers() ([]string, error) {
	return r.verify(func(name string) bool { return !strings.HasPrefix(name, SeriesDir+"/") })
}

// verify is Verify of the files for which looked returns true.
func (r *Run) verify(looked func(name string) bool) ([]string, error) {
	have, err := digests(r.Dir, looked)
	if err != nil {
		return nil, err
	}
	var bad []string
	for name, want := range r.Manifest.Files {
		if looked(name) && have[name] != want {
			bad = append(bad, name)
		}
		delete(have, name)
	}
	for name := range have {
		bad = append(bad, name)
	}
	if slices.Contains(r.Changed, ManifestFile) {
		bad = append(bad, ManifestFile)
	}
	slices.Sort(bad)
	return bad, nil
}
