package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/judge/bisect"
	record "plimsoll/run/bisect"
	"plimsoll/studies/study"
)

// The ranges: so many with a change, and so many of builds that are alike.
const (
	rangeBuilds   = 32
	rangesChanged = 10
	rangesAlike   = 20
	rangeAmount   = 0.05 // of the base's CPU time
	rangeMeasured = "measure: 20s"
	rangeBudget   = 90 * time.Minute
)

// A buildRange is a row of builds, of which one is the first with more work, or none.
type buildRange struct {
	Range    int    `json:"range"` // from 1
	First    int    `json:"first"` // from 0; 0 for none
	Function string `json:"function,omitempty"`
	Work     work   `json:"work,omitempty"`
}

// ranges are all of the study, in the order in which they are searched. The functions are those of
// the variants of 5 %, one of each kind; order and indexes are drawn once.
func ranges() []buildRange {
	var all []buildRange
	rng := rand.New(rand.NewPCG(38, 6))
	for _, v := range variants() {
		if v.Group == functions && v.Amount == rangeAmount && len(all) < rangesChanged {
			first := 1 + rng.IntN(rangeBuilds-1)
			all = append(all, buildRange{First: first, Function: v.Function, Work: v.Work})
		}
	}
	all = append(all, make([]buildRange, rangesAlike)...)
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for i := range all {
		all[i].Range = i + 1
	}
	return all
}

// A searchedRange is a range with the answer of plimsoll bisect.
type searchedRange struct {
	buildRange
	At       time.Time        `json:"at"`
	Commit   string           `json:"commit"`
	Machine  string           `json:"machine"`
	Setting  string           `json:"setting"`
	Before   float64          `json:"others_before"` // the share of this host's cores that others used
	Seconds  float64          `json:"seconds"`       // of wall time, without the builds
	ID       string           `json:"bisection,omitempty"`
	Steps    int              `json:"steps"`
	Blocks   int              `json:"blocks"` // with a ratio, of all steps
	Answer   bisect.Diagnosis `json:"answer"`
	Problem  string           `json:"problem,omitempty"`
	Repeated bool             `json:"repeated,omitempty"` // the study was killed meanwhile, and went on
}

// score compares the answer with the truth. Builds are counted from 0, as in bisect.json.
func (r searchedRange) score() string {
	named := r.Answer.Outcome == bisect.Found
	switch {
	case r.Problem != "":
		return without
	case !named && r.First > 0:
		return nothing
	case !named, r.First > 0 && r.Answer.Build == r.First:
		return right
	}
	return wrong
}

// rangeSetting stands for everything that outcomes must share to be counted together.
func rangeSetting() string { return study.Digest(rangePlan(0, ""), 6) }

// rangePlan is the plan of all steps of a search; base is the program of its first build.
func rangePlan(seed uint64, base string) string {
	text := strings.Replace(planOf(seed, base, nil), "measure: 8s", rangeMeasured, 1)
	return text + "compare:\n  mode: duet\n  slice: 200ms\n  arms: {base: {}, new: {}}\n"
}

// A searcher carries out the searches.
type searcher struct{ study.Keeper[searchedRange] }

// runRanges is the study of bisect.
func runRanges(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("attribution bisect", flag.ContinueOnError)
	var s searcher
	s.Name = "bisections"
	s.Pages = func(all []searchedRange) map[string]string {
		return map[string]string{"bisections.md": rangesPage(all)}
	}
	s.Flags(fs, "how many ranges to search")
	if err := study.Parse(fs, args); err != nil {
		return err
	}
	if !s.Valid() {
		return errors.New("-n and -quiet: want numbers above 0")
	}
	all, _, err := s.Begin(s.Program)
	if err != nil || s.Draw {
		return err
	}
	b := bench{}
	b.Bench = s.Bench
	c, err := b.calibrate(ctx)
	if err != nil {
		return err
	}
	for range s.Count {
		i := slices.IndexFunc(ranges(), func(r buildRange) bool {
			return !slices.ContainsFunc(all, func(o searchedRange) bool {
				return o.Range == r.Range && o.Setting == rangeSetting()
			})
		})
		if i < 0 {
			fmt.Println("each range has an outcome")
			return nil
		}
		o := searchedRange{buildRange: ranges()[i], Setting: rangeSetting(),
			Commit: study.Revision(), Machine: study.Machine()}
		if err := s.search(ctx, &b, c, &o); err != nil {
			return fmt.Errorf("%w; start again to go on", err)
		}
		if all, err = s.Keep(all, o); err != nil {
			return err
		}
		fmt.Printf("range %d, first changed build %d: %s: %s, build %d\n",
			o.Range, o.First, o.score(), o.Answer.Outcome, o.Answer.Build)
	}
	return nil
}

// search makes the builds of a range, and has them searched. One that a kill has cut goes on with
// its whole blocks, as bisect does.
func (s *searcher) search(ctx context.Context, b *bench, c calibration, o *searchedRange) error {
	var left int
	o.Repeated = s.Left(&left) && left == o.Range
	dir := filepath.Join(s.Dir, fmt.Sprint("range-", o.Range))
	builds, err := b.row(ctx, dir, c, o.buildRange)
	if err != nil {
		return err
	}
	if o.Before, _, err = s.Calm(ctx); err != nil {
		return err
	}
	o.At = study.Now()
	if err := s.Mark(o.Range); err != nil {
		return err
	}
	plan := filepath.Join(dir, "plan.yaml")
	text := rangePlan(uint64(600+o.Range), builds[0])
	if err := os.WriteFile(plan, []byte(text), 0o644); err != nil {
		return err
	}
	args := []string{"bisect", "-json", "-budget", rangeBudget.String(),
		"-store", filepath.Join(s.Dir, "store")}
	cmd := exec.CommandContext(ctx, s.Program, append(append(args, builds...), plan)...)
	var stdout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, os.Stderr
	if err := study.Beside(ctx, "", 0, cmd); err != nil {
		return err
	}
	o.Seconds = math.Round(time.Since(o.At).Seconds())
	if status := cmd.ProcessState.ExitCode(); status == exit.Usage {
		return fmt.Errorf("bisect refuses the plan or the builds of range %d", o.Range)
	}
	var r record.Record
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		o.Problem = fmt.Sprintf("bisect ended with status %d and no answer", cmd.ProcessState.ExitCode())
	}
	o.ID, o.Answer, o.Steps = r.ID, r.Answer, len(r.Steps)
	for _, step := range r.Steps {
		o.Blocks += len(step.Ratios)
	}
	return os.RemoveAll(dir)
}

// row makes the builds of a range, in their order. Each has a text of its own, as commits have.
func (b *bench) row(ctx context.Context, dir string, c calibration, r buildRange) ([]string, error) {
	var builds []string
	for i := range rangeBuilds {
		v := variant{Name: "base"}
		if r.First > 0 && i >= r.First {
			v = variant{Name: "more work", Function: r.Function, Work: r.Work, Amount: rangeAmount}
		}
		repeats, err := v.repeats(c)
		if err != nil {
			return nil, err
		}
		s, err := v.source(".", repeats)
		if err != nil {
			return nil, err
		}
		s[mainPath+"/number.go"] = fmt.Sprintf(numberText, i)
		program := filepath.Join(dir, fmt.Sprintf("%02d", i))
		if err := s.build(ctx, ".", program+".src", program); err != nil {
			return nil, err
		}
		builds = append(builds, program)
	}
	return builds, nil
}

// numberText has what tells builds apart.
const numberText = `package main

import "os"

func init() {
	if len(os.Args) > 1000 {
		println(%d)
	}
}
`

//go:embed ranges.tmpl
var rangesText string

// rangesPage is the page of the outcomes of the last setting.
func rangesPage(all []searchedRange) string {
	var counted []searchedRange
	for _, o := range all {
		if o.Setting == all[len(all)-1].Setting {
			counted = append(counted, o)
		}
	}
	count := func(changed bool, scores ...string) (n int) {
		for _, o := range counted {
			if (o.First > 0) == changed && (len(scores) == 0 || slices.Contains(scores, o.score())) {
				n++
			}
		}
		return n
	}
	return study.Render(rangesText, template.FuncMap{
		"score": searchedRange.score, "share": study.ShareText, "count": count,
	}, map[string]any{
		"All": counted, "Ranges": len(ranges()), "Builds": rangeBuilds,
		"Changed": rangesChanged, "Alike": rangesAlike, "Others": len(all) - len(counted),
		"Machines": study.Machines(counted, func(o searchedRange) string { return o.Machine }),
	})
}
