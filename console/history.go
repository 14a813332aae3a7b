package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/record"
	"plimsoll/record/store"
)

// An item is a HistoryItem of the contract.
type item struct {
	Kind  string    `json:"kind"`
	ID    string    `json:"id"`
	Plan  string    `json:"plan"`
	Began time.Time `json:"began"`
	State string    `json:"state"`
	Valid *bool     `json:"valid,omitempty"`
	// Exploratory describes the steering by a person; empty for a run that nobody steered.
	Exploratory string     `json:"exploratory,omitempty"`
	Arm         string     `json:"arm,omitempty"`
	Engine      string     `json:"engine,omitempty"`
	Of          string     `json:"of,omitempty"`
	Block       int        `json:"block,omitempty"`
	Result      string     `json:"result,omitempty"`
	Runs        int        `json:"runs,omitempty"`
	Digest      string     `json:"digest,omitempty"`
	Documents   []namedRef `json:"documents"`
}

// A namedRef is a Document of the contract.
type namedRef struct {
	Name string `json:"name"`
	Href string `json:"href"`
}

// writesWithin is the longest time between two writes of the windows of a run that is under way.
const writesWithin = 10 * time.Second

// state returns the state of a run: one that is not over, publishes nothing and writes nothing has
// died. Comparisons and sizings need not publish or write every second, so their stored state
// counts.
func (s *Console) state(id string, st record.State) string {
	if st == record.Sealed || st == record.Interrupted {
		return string(st)
	}
	if f := s.hub.run(id); f != nil {
		if f.died() {
			return "died"
		}
		if !f.over() {
			return string(record.Running)
		}
	}
	if info, err := os.Stat(filepath.Join(dirOf(s.store, "runs", id), record.WindowsFile)); err == nil &&
		time.Since(info.ModTime()) < writesWithin {
		return string(record.Running)
	}
	return "died"
}

// The files of comparisons and sizings in their directories.
const (
	comparisonFile = "comparison.json"
	sizingFile     = "steps.json"
)

// wholeState is the state of a comparison or sizing in a directory of the store: one that was
// followed until its process was gone has died, and so has one whose socket nobody serves: it was
// killed while no console ran.
func (s *Console) wholeState(dir, id string, st record.State) string {
	if st != record.Running {
		return string(st)
	}
	if f := s.hub.run(id); f != nil && f.died() || f == nil && abandoned(dirOf(s.store, dir, id)) {
		return "died"
	}
	return string(st)
}

// abandoned reports whether a directory has the socket of a process that is gone.
func abandoned(dir string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	c, err := dial(ctx, dir)
	if err != nil {
		return errors.Is(err, syscall.ECONNREFUSED)
	}
	c.Close()
	return false
}

// items returns all of the store, newest first.
func (s *Console) items(r *http.Request) (all []item, warnings []string, err error) {
	entries, warn, err := s.store.List(r.Context())
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		if !wholeID(e.ID) { // it is of a manifest, and becomes a path
			continue
		}
		valid := e.Valid
		it := item{
			Kind:        "run",
			ID:          e.ID,
			Plan:        e.Name,
			Began:       e.Epoch,
			State:       s.state(e.ID, e.State),
			Arm:         e.Arm,
			Engine:      e.Engine,
			Of:          e.Comparison,
			Block:       e.Block,
			Digest:      e.PlanDigest,
			Valid:       &valid,
			Exploratory: e.Exploratory,
		}
		var results []string
		if e.Measured != nil {
			results = append(results, e.Measured.String())
		}
		if e.CapacityKind != "" {
			text := "capacity " + record.CapacityText(e.CapacityKind, e.Capacity)
			if e.Capacity > 0 {
				text += " users"
			}
			results = append(results, text)
		}
		it.Result = strings.Join(results, "; ")
		all = append(all, it)
	}
	for kind, dir := range map[string]string{"comparison": "comparisons", "sizing": "sizings"} {
		found, _ := os.ReadDir(filepath.Join(s.store.Root(), dir))
		for _, d := range found {
			if !wholeID(d.Name()) {
				continue
			}
			file := filepath.Join(s.store.Root(), dir, d.Name(), map[string]string{
				"comparison": comparisonFile,
				"sizing":     sizingFile,
			}[kind])
			it, err := s.wholes.of(file, func() (item, error) { return s.itemOf(kind, d.Name()) })
			if err != nil {
				warn = append(warn, err)
				continue
			}
			it.State = s.wholeState(dir, it.ID, record.State(it.State))
			all = append(all, it)
		}
	}
	slices.SortStableFunc(all, func(a, b item) int { return b.Began.Compare(a.Began) })
	for _, err := range warn {
		warnings = append(warnings, plain.Error(err))
	}
	return all, warnings, nil
}

// itemOf reads a comparison or sizing.
func (s *Console) itemOf(kind, id string) (it item, err error) {
	if kind == "sizing" {
		z, err := s.store.Sizing(id)
		if err != nil {
			return it, err
		}
		return item{
			Kind:   kind,
			ID:     id,
			Plan:   z.Name,
			Began:  z.Started,
			State:  string(z.State),
			Runs:   len(z.Steps),
			Digest: z.PlanDigest,
			Engine: z.Engine,
		}, nil
	}
	c, err := s.store.Comparison(id)
	if err != nil {
		return it, err
	}
	it = item{
		Kind:   kind,
		ID:     id,
		Plan:   c.Name,
		Began:  c.Started,
		State:  string(c.State),
		Runs:   len(c.Runs),
		Digest: c.PlanDigest,
	}
	if o, ok := concluded(c); ok {
		it.Result = resultText(o)
		return it, nil
	}
	var verdicts []string
	for _, v := range verdictsOf(c) {
		verdicts = append(verdicts, strings.TrimSpace(v.Engine+" "+v.Arm+" "+v.Kind))
	}
	it.Result = strings.Join(verdicts, ", ")
	return it, nil
}

// verdictsOf returns the verdicts of the last look that was taken; none before the first.
func verdictsOf(c *record.Comparison) []record.LookVerdict {
	for _, l := range slices.Backward(c.Looks) {
		if l.Taken() {
			return l.Verdicts
		}
	}
	return nil
}

// number reads a whole number of a query within its limits.
func number(r *http.Request, name string, without, least, most int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return without, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, queryError{
			fmt.Errorf("%s=%q: want a whole number from %d to %d", name, text, least, most),
		}
	}
	return n, nil
}

func (s *Console) history(r *http.Request) (any, error) {
	limit, err := number(r, "limit", 100, 1, 500)
	if err != nil {
		return nil, err
	}
	offset, err := number(r, "offset", 0, 0, 1<<30)
	if err != nil {
		return nil, err
	}
	all, warnings, err := s.items(r)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	words := strings.Fields(strings.ToLower(q.Get("q")))
	kind := q.Get("kind")
	of := q.Get("of")
	parts := q.Get("parts") == "1"
	all = slices.DeleteFunc(all, func(it item) bool {
		text := strings.ToLower(
			strings.Join([]string{it.ID, it.Plan, it.Arm, it.Engine, it.State, it.Result}, " "),
		)
		return kind != "" && it.Kind != kind || of != "" && it.Of != of ||
			of == "" && !parts && it.Of != "" ||
			slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
	})
	total := len(all)
	all = append([]item{}, all[min(offset, total):min(offset+limit, total)]...)
	for i := range all {
		all[i].Documents = documents(s.store, all[i].Kind+"s", all[i].ID)
	}
	return map[string]any{
		"items":    all,
		"total":    total,
		"warnings": append([]string{}, warnings...),
	}, nil
}

// dirOf returns the directory of a run, comparison or sizing.
func dirOf(st *store.Store, kind, id string) string { return filepath.Join(st.Root(), kind, id) }

// documents returns the pages of a directory: its HTML files, and the HTML files of its directory
// pages.
func documents(st *store.Store, kind, id string) []namedRef {
	out := []namedRef{}
	for _, below := range []string{"", "pages"} {
		found, _ := os.ReadDir(filepath.Join(dirOf(st, kind, id), below))
		for _, d := range found {
			name := filepath.Join(below, d.Name())
			if !d.Type().IsRegular() || !isDocument(name) {
				continue
			}
			ref := namedRef{
				name,
				"/api/documents/" + kind + "/" + id + "/" + filepath.ToSlash(name),
			}
			if name == "report.html" {
				ref.Name = "Report"
			}
			out = append(out, ref)
		}
	}
	return out
}

// isDocument reports whether a path below a directory is one of a document.
func isDocument(name string) bool {
	name = strings.TrimPrefix(filepath.ToSlash(name), "pages/")
	return wholeID(name) && strings.HasSuffix(name, ".html")
}

// maxDocument bounds a document, in bytes.
const maxDocument = 64 << 20

func (s *Console) document(w http.ResponseWriter, r *http.Request) {
	kind := r.PathValue("kind")
	id := r.PathValue("id")
	name := r.PathValue("file")
	if kind != "runs" && kind != "comparisons" && kind != "sizings" || !wholeID(id) ||
		!isDocument(name) {
		refuse(w, http.StatusNotFound, "there is no such document")
		return
	}
	// a link that leaves the directory is not followed
	root, err := os.OpenRoot(dirOf(s.store, kind, id))
	if err != nil {
		refuse(w, http.StatusNotFound, "there is no such document")
		return
	}
	defer root.Close()
	name = filepath.FromSlash(name)
	// the opening of a pipe would wait for its writer
	if fi, err := root.Stat(name); err != nil || !fi.Mode().IsRegular() {
		refuse(w, http.StatusNotFound, "there is no such document")
		return
	}
	f, err := root.Open(name)
	if err != nil {
		refuse(w, http.StatusNotFound, "there is no such document")
		return
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > maxDocument {
		refuse(
			w,
			http.StatusInternalServerError,
			fmt.Sprintf("the document is no file of at most %d bytes", maxDocument),
		)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set(
		"Content-Security-Policy",
		"sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; font-src data:; frame-ancestors 'self'",
	)
	http.ServeContent(w, r, "", fi.ModTime(), f)
}
