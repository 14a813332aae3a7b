// Package bisection holds the verb bisect: the first build, of commits or of given programs, that
// moved an endpoint.
package bisection

import (
	"cmp"
	"context"
	"path/filepath"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/app"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/run/bisect"
)

// flags are those of the verb, with its arguments.
type flags struct {
	bisect.Range
	bisect.Options
	endpoint, plan string
	json           bool
}

func parse(a *app.App) (f flags, err error) {
	fs := a.Flags
	root := a.StoreFlag()
	fs.StringVar(&f.Good, "good", "", "`revision` of the last known good build")
	fs.StringVar(&f.Bad, "bad", "", "`revision` of a bad build, which comes after it")
	fs.StringVar(&f.Build, "build", "", "`command` that makes the build of a commit, without a shell: "+
		"{commit} is its name, {source} a work tree of it, {dir} an empty directory for a release, "+
		"{program} a file in its place for a single program")
	fs.StringVar(&f.Source.Dir, "source", ".", "`directory` of the git repository of the commits")
	fs.BoolVar(&f.Merged, "merged", false,
		"search the commits of merged branches too (default: along the first parents)")
	fs.StringVar(&f.endpoint, "endpoint", "",
		"`endpoint` of the plan whose change is looked for (default cost(app), or the plan's first)")
	fs.DurationVar(&f.Budget, "budget", 0,
		"begin no more steps after this `time`; the same command goes on with the search")
	fs.DurationVar(&f.Limit, "build-limit", 30*time.Minute, "longest `time` of one build")
	fs.BoolVar(&f.json, "json", false, "write the bisection as JSON")
	rate, keep := a.CalibrateFlag(), a.KeepFlag()
	a.OutwardFlags()
	rest, err := a.Parse(1, bisect.MostBuilds+1)
	if err != nil {
		return f, err
	}
	f.Root, f.Rate, f.Keep = *root, *rate, *keep
	f.Given, f.plan = rest[:len(rest)-1], rest[len(rest)-1]
	return f, nil
}

// Bisect is the verb.
func Bisect(ctx context.Context, a *app.App) error {
	f, err := parse(a)
	if err != nil {
		return err
	}
	p, err := a.ReadPlan(f.plan)
	if err != nil {
		return err
	}
	if err := bisect.CheckPlan(p, f.plan); err != nil {
		return err
	}
	endpoint, err := bisect.EndpointOf(p, f.endpoint)
	if err != nil {
		return err
	}
	f.Source.Secrets = a.Secrets
	builds, command, err := f.Range.Builds(ctx, f.Source)
	if err != nil {
		return err
	}
	f.Program, f.Catalog, f.Known = a.Program(), a.Catalog(), a.Known()
	if p.Networked() { // before the lock, which another process of this program needs
		if done, err := f.Program.Isolate(ctx, p, f.Root); done || err != nil {
			return err
		}
	}
	st, err := store.Open(f.Root)
	if err != nil {
		return err
	}
	st.Hide(a.Secrets)
	r := bisect.NewRecord(p, endpoint, command, builds)
	r.Tool, r.Started = f.Program.Version, time.Now()
	dir, unlock, err := r.Take(st)
	if err != nil {
		return err
	}
	defer unlock()
	if !r.Over() {
		if err := r.Search(ctx, f.Options, p, dir); err != nil {
			return err
		}
	}
	return conclude(a, f, r, dir)
}

// conclude prints the answer, and returns its status.
func conclude(a *app.App, f flags, r *bisect.Record, dir string) error {
	if f.json {
		if err := a.JSON(r); err != nil {
			return err
		}
	} else {
		for _, line := range r.Lines() {
			a.Printf("%s\n", line)
		}
		a.Printf("report: %s\n", filepath.Join(dir, bisect.ReportFile))
	}
	if r.State != record.Sealed {
		a.Tellf("plimsoll: %s; the same command goes on with it\n",
			cmp.Or(r.Why, "it was interrupted"))
	}
	return exit.With(exit.Bisected(r.State, r.Answer, r.Worse(), r.OverBudget()))
}
