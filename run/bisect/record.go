package bisect

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"plimsoll/internal/files"
	"plimsoll/internal/plain"
	"plimsoll/judge/bisect"
	"plimsoll/judge/suspects"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/store"
)

// File is the name of a bisection's file in its directory, and ReportFile of its report.
const (
	File       = "bisect.json"
	ReportFile = "report.md"
)

// A Record is a bisection with all that was done for it.
type Record struct {
	Format   int          `json:"format"`
	ID       string       `json:"id"`
	Name     string       `json:"name"` // of its plan
	Tool     string       `json:"tool"`
	Plan     string       `json:"plan"` // canonical YAML, without the arms of the steps
	Endpoint string       `json:"endpoint"`
	Command  []string     `json:"command,omitempty"` // that makes a build; none for given builds
	Started  time.Time    `json:"started"`
	Saved    time.Time    `json:"saved"`
	State    record.State `json:"state"`
	Why      string       `json:"why,omitempty"` // of an interrupted one
	Builds   []Build      `json:"builds"`        // in their order
	Steps    []StepRecord `json:"steps"`
	// Suspects are those that the search started from; nil where none were looked for.
	Suspects *suspects.SuspectSearch `json:"suspects,omitempty"`
	Prior    []float64               `json:"prior,omitempty"` // weights of the builds by suspects
	Answer   bisect.Diagnosis        `json:"answer"`
	// Probabilities are those of the builds of being the first changed one; none before the ends
	// are known to differ.
	Probabilities []float64 `json:"probabilities,omitempty"`
}

// A Build is a build of the range.
type Build struct {
	Name    string `json:"name"`            // commit, or the program as it was given
	Title   string `json:"title,omitempty"` // of the commit
	Binary  string `json:"binary,omitempty"`
	Skipped string `json:"skipped,omitempty"` // the reason why it is left out
}

// Short is its name in tables and reports.
func (b Build) Short() string {
	if b.Title != "" && len(b.Name) > 12 {
		return b.Name[:12]
	}
	return b.Name
}

// A StepRecord is a comparison of two builds.
type StepRecord struct {
	Build      int            `json:"build"`
	Against    int            `json:"against"`
	Purpose    bisect.Purpose `json:"purpose"`
	Blocks     int            `json:"blocks"` // planned
	Comparison string         `json:"comparison"`
	// Ratios are the logarithms of the ratios of the valid blocks.
	Ratios []float64 `json:"ratios"`
	Done   bool      `json:"done"` // nothing is left of it
	Cut    bool      `json:"cut,omitempty"`
}

// NewRecord returns a bisection that has not begun. Its id is one of its arguments, so that the
// same arguments lead to the same bisection.
func NewRecord(p *plan.Plan, endpoint string, command []string, builds []Build) *Record {
	facts := []string{p.String(), endpoint, strings.Join(command, "\x00")}
	for _, b := range builds {
		facts = append(facts, b.Name)
	}
	text := strings.Join(facts, "\n")
	digest := strings.TrimPrefix(record.DigestOf([]byte(text)), "sha256:")
	return &Record{
		Format:   record.FormatVersion,
		ID:       p.Name + "-" + digest[:12],
		Name:     p.Name,
		Plan:     p.String(),
		Endpoint: endpoint,
		Command:  command,
		Builds:   builds,
		State:    record.Running,
		Answer:   bisect.Diagnosis{Outcome: bisect.Open},
	}
}

// Take locks the bisection in a store until unlock is called, and takes its stored state, if there
// is one. That it is under way is a [plan.UsageError], and so is a stored state that is no good.
func (r *Record) Take(st *store.Store) (dir string, unlock func(), err error) {
	unlock, err = st.LockBisection(r.ID)
	if errors.Is(err, store.ErrBusy) {
		return "", nil, plan.Usagef("%w; wait for it, or end it first", err)
	}
	if err != nil {
		return "", nil, err
	}
	dir = st.BisectionDir(r.ID)
	if err := r.Load(dir); err != nil {
		unlock()
		return "", nil, plan.UsageError{Err: err}
	}
	return dir, unlock, nil
}

// Load takes the stored state of the bisection, if there is one in the directory.
func (r *Record) Load(dir string) error {
	path := filepath.Join(dir, File)
	text, err := files.Read(path, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var stored Record
	if err := json.Unmarshal(text, &stored); err != nil {
		return fmt.Errorf("%s: %w; move it away to begin again", path, err)
	}
	if stored.Format != r.Format || stored.ID != r.ID || len(stored.Builds) != len(r.Builds) {
		return fmt.Errorf("%s is of another bisection; move it away to begin again", path)
	}
	for _, s := range stored.Steps {
		if min(s.Build, s.Against) < 0 || max(s.Build, s.Against) >= len(r.Builds) {
			return fmt.Errorf("%s: a step is of build %d, and there are %d; move it away to begin again",
				path, max(s.Build, s.Against), len(r.Builds))
		}
	}
	if len(stored.Prior) != 0 && len(stored.Prior) != len(r.Builds) {
		return fmt.Errorf("%s: %d weights for %d builds; move it away to begin again",
			path, len(stored.Prior), len(r.Builds))
	}
	*r = stored
	return nil
}

// Save writes the bisection and its report.
func (r *Record) Save(dir string, secrets *plain.Secrets) error {
	r.Saved = time.Now()
	if err := record.WriteJSONTo(record.OS{}, filepath.Join(dir, File), r, secrets); err != nil {
		return err
	}
	return files.ReplaceMode(filepath.Join(dir, ReportFile),
		[]byte(plain.Lines(secrets.Redact(r.Markdown()))), 0o600)
}

// search returns the search with all measurements so far.
func (r *Record) search() *bisect.BuildSearch {
	s := &bisect.BuildSearch{Builds: len(r.Builds), Prior: r.Prior, Skipped: map[int]bool{}}
	for i, b := range r.Builds {
		s.Skipped[i] = b.Skipped != ""
	}
	for _, step := range r.Steps {
		for _, ratio := range step.Ratios {
			s.Measured = append(s.Measured, bisect.BlockRatio{
				Build:   step.Build,
				Against: step.Against,
				Ratio:   ratio,
				Purpose: step.Purpose,
			})
		}
	}
	return s
}
