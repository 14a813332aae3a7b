package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/built"
	"plimsoll/internal/files"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// UsersFile holds the records of a run's users besides the operations in windows.hdr.
const UsersFile = "users.json"

// UsersVersion is the version of that file which this package writes.
const UsersVersion = 1

// Users holds the planned and actual mix of the users, the fate of their messages, and the storms.
type Users struct {
	Format int `json:"format"`
	// Phase is the phase of which Mixes and Messages are: "measure" or "search".
	Phase    string               `json:"phase"`
	Mixes    []workload.Mix       `json:"mixes,omitempty"`
	Messages workload.LedgerCount `json:"messages"`
	// Whole counts messages over the whole run.
	Whole workload.LedgerCount `json:"messages_whole_run"`
	// Grace is the longest time from the acknowledgment of a message to an arrival that is not
	// late, in nanoseconds.
	Grace time.Duration `json:"grace"`
	// Undelivered is the reason why deliveries are not judged: the target itself reports that it
	// makes none. It is empty otherwise.
	Undelivered string         `json:"undelivered,omitempty"`
	Audit       *Audit         `json:"audit,omitempty"`
	Storms      []StormOutcome `json:"storms,omitempty"`
}

// An Audit is the reading back of acknowledged messages at the end of a run.
type Audit struct {
	workload.AuditResult
	Took time.Duration `json:"took"`
	// Error is the reason why it failed; then the counts are of the work before that.
	Error string `json:"error,omitempty"`
}

// A StormOutcome is the record of one storm. From and To are offsets from the run's epoch: To is
// the return of the last of its users, or the end of the phase if some did not return.
type StormOutcome struct {
	Kind   string            `json:"kind"`
	Share  float64           `json:"share"` // 0: one user
	Over   time.Duration     `json:"over"`
	Params map[string]string `json:"params,omitempty"`
	From   time.Duration     `json:"from"`
	To     time.Duration     `json:"to"`
	// Affected users took part; of them Done came back and Missed did not, or were not there.
	Affected int `json:"affected"`
	Done     int `json:"done"`
	Missed   int `json:"missed"`
	// Back is the time from From to the return of the last of the Done users.
	Back time.Duration `json:"back"`
}

// Users writes UsersFile.
func (w *Writer) Users(u Users) error {
	u.Format = UsersVersion
	return w.add(UsersFile, u)
}

// Users reads the users' records; nil for a run that ended before they were written, or is older
// than the file.
func (r *Run) Users() (*Users, error) {
	return readOptional(r, UsersFile, UsersVersion, func(u *Users) int { return u.Format })
}

// readOptional reads a JSON file that not every run has; nil without it. One of another format is
// an error.
func readOptional[T any](r *Run, file string, version int, format func(*T) int) (*T, error) {
	b, err := files.Read(filepath.Join(r.Dir, file), 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := built.NewerJSON(b, r.Manifest.Tool, version); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", r.Dir, file, err)
	}
	v := new(T)
	if err := json.Unmarshal(b, v); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", r.Dir, file, err)
	}
	if have := format(v); have != version {
		return nil, fmt.Errorf(
			"%s: %s: format %d, this version reads %d",
			r.Dir,
			file,
			have,
			version,
		)
	}
	return v, nil
}

// Outside holds the operations outside of the steady state: operations of logins over the whole
// run, by name, and of each storm of Users.Storms, by name.
type Outside struct {
	Login  map[string]*measure.Window
	Storms []map[string]*measure.Window
}

// Outside reads the operations of logins and of these storms. A storm has the operations of its
// kind from the second in which it begins to the next storm of that kind.
func (r *Run) Outside(storms []StormOutcome) (Outside, error) {
	out := newOutside(storms)
	_, err := r.EachSecond(func(second int, ws []*measure.Window) bool {
		out.add(second, ws, storms)
		return true
	})
	return out, err
}

func newOutside(storms []StormOutcome) Outside {
	out := Outside{
		Login:  map[string]*measure.Window{},
		Storms: make([]map[string]*measure.Window, len(storms)),
	}
	for i := range storms {
		out.Storms[i] = map[string]*measure.Window{}
	}
	return out
}

// add takes in the windows of one second.
func (o *Outside) add(second int, ws []*measure.Window, storms []StormOutcome) {
	end := time.Duration(second+1) * time.Second
	for _, w := range ws {
		if strings.HasPrefix(w.Name, workload.Login) {
			mergeInto(o.Login, w)
		}
		if !strings.HasPrefix(w.Name, workload.StormPrefix) {
			continue
		}
		for i, s := range slices.Backward(storms) {
			if s.From < end && strings.HasPrefix(w.Name, workload.StormPrefix+s.Kind+"_") {
				mergeInto(o.Storms[i], w)
				break
			}
		}
	}
}
