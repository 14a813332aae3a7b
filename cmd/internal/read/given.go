package read

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"plimsoll/cmd/internal/app"
	"plimsoll/cmd/internal/formats"
	"plimsoll/evidence"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/report"
)

// givenFiles reads the files of one call and holds that no run is counted twice.
type givenFiles struct {
	app   *app.App
	n     *numbers
	texts map[string][]byte // standard input comes once
	paths map[string]string
	sums  map[[sha256.Size]byte]string
	// runs are those that were taken, from sources.
	runs    []record.Imported
	sources []report.Source
}

func newFiles(a *app.App, n *numbers) *givenFiles {
	return &givenFiles{app: a, n: n, texts: map[string][]byte{}, paths: map[string]string{},
		sums: map[[sha256.Size]byte]string{}}
}

// data returns the bytes of a file, or of standard input for "-".
func (f *givenFiles) data(name string) ([]byte, error) {
	if data, ok := f.texts[name]; ok {
		return data, nil
	}
	data, err := readInput(f.app, name)
	if err == nil {
		f.texts[name] = data
	}
	return data, err
}

// read reads one file, or a stored run, and checks it. All errors are of the person who called.
func (f *givenFiles) read(name string) ([]record.Imported, error) {
	path := filepath.Clean(name)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if other, twice := f.paths[path]; twice {
		return nil, plan.Usagef("%s is there twice (%s): one run counts once", name, other)
	}
	f.paths[path] = name
	info, err := os.Stat(name)
	if name != "-" && (err != nil || info.IsDir()) {
		return f.stored(name, err == nil)
	}
	data, err := f.data(name)
	if err != nil {
		return nil, err
	}
	known, err := formats.Of(*f.n.format, data)
	if err == nil && known.Read == nil {
		err = errors.New("a CSV of pairs holds both arms: pass it alone, without -base and -new")
	}
	var given []record.Imported
	if err == nil {
		given, err = known.Read(name, data)
	}
	if err != nil {
		return nil, plan.Usagef("%s: %w", name, err)
	}
	// Two runs may well agree in the few figures that a person wrote down, but not in every byte of
	// a tool's file.
	if sum := sha256.Sum256(data); given[0].Tool != formats.FiguresTool {
		if other, twice := f.sums[sum]; twice {
			return nil, plan.Usagef("%s is a copy of %s: one run counts once", name, other)
		}
		f.sums[sum] = name
	}
	return given, nil
}

// take adds the runs of a file: of both arms, or of the arm that it was given for. It returns their
// number.
func (f *givenFiles) take(name, arm string, pair int) (int, error) {
	given, err := f.read(name)
	if err != nil {
		return 0, err
	}
	for k, g := range given {
		switch {
		case arm == "" && g.Arm == "":
			return 0, plan.Usagef(
				"%s is one run of %s: it is not known of which arm; pass it by -base or -new",
				name,
				g.Tool,
			)
		case arm != "" && g.Arm != "":
			return 0, plan.Usagef("%s holds both arms: pass it without -%s", name, arm)
		case arm == "":
			g.Pair = pair
		default:
			g.Arm, g.Pair = arm, pair+k
		}
		f.runs = append(f.runs, g)
	}
	f.sources = append(f.sources,
		report.Source{Arm: cmp.Or(arm, "both"), Pair: pair, File: name, Tool: given[0].Tool})
	return len(given), nil
}

// stored reads the figures of a run of the store.
func (f *givenFiles) stored(name string, isDir bool) ([]record.Imported, error) {
	r, err := f.run(name, isDir)
	if err != nil {
		return nil, err
	}
	g, err := f.app.Catalog().Of(r).Figures(context.Background())
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", r.Manifest.ID, err)
	}
	return []record.Imported{g}, nil
}

// run opens a run of the store, or by its directory, that a verdict may rest on: sealed, valid,
// unaltered and no pilot. All errors are of the person who called.
func (f *givenFiles) run(name string, isDir bool) (*record.Run, error) {
	var r *record.Run
	var err error
	if isDir {
		r, err = record.Open(name)
	} else {
		st, serr := openStore(*f.n.root)
		if serr != nil {
			return nil, plan.Usagef("%s: there is no such file, and no store in %s to have such a run", name,
				*f.n.root)
		}
		r, err = st.Run(name)
	}
	if err != nil {
		return nil, plan.Usagef("%s: neither a file nor a stored run: %w", name, err)
	}
	id := r.Manifest.ID
	if _, twice := f.paths["run "+id]; twice { // by its id, a prefix of it or its directory
		return nil, plan.Usagef("run %s is there twice: one run counts once", id)
	}
	f.paths["run "+id] = name
	if err := evidence.Judgeable(r); err != nil {
		return nil, plan.Usagef("%w", err)
	}
	return r, nil
}

// judgeArms judges the runs of -base and -new.
func judgeArms(a *app.App, n *numbers) error {
	f := newFiles(a, n)
	var counts [2]int
	for i, arm := range []struct{ name, list string }{{record.ImportedBase, *n.base}, {record.ImportedNew, *n.fresh}} {
		if strings.Trim(arm.list, ", ") == "" {
			return plan.Usagef("the arm %s is empty: give its runs by -%s", arm.name, arm.name)
		}
		for entry := range strings.SplitSeq(arm.list, ",") {
			counts[i]++
			pair, name := counts[i], strings.TrimSpace(entry)
			if v, rest, ok := numbered(name); ok {
				if v < 1 {
					return plan.Usagef("-%s %s: a pair has a number from 1", arm.name, name)
				}
				pair, name = v, rest
			}
			if name == "" {
				return plan.Usagef("-%s: an entry of the list is empty", arm.name)
			}
			took, err := f.take(name, arm.name, pair)
			if err != nil {
				return err
			}
			counts[i] += took - 1
		}
	}
	if counts[0] != counts[1] {
		return plan.Usagef(
			"%d runs by -base and %d by -new: want pairs, one run of each arm",
			counts[0],
			counts[1],
		)
	}
	return judgeGiven(a, n, f)
}
