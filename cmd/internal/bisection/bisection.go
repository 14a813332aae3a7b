// Package bisection holds the verb bisect: the first build, of commits or of given programs, that
// moved an endpoint.
package bisection

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"path/filepath"
	"slices"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/app"
	"plimsoll/cmd/internal/read"
	"plimsoll/cmd/internal/usage"
	"plimsoll/internal/plain"
	"plimsoll/judge/comparison"
	"plimsoll/judge/suspects"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/run/bisect"
	"plimsoll/run/compare"
	"plimsoll/run/session"
	"plimsoll/run/source"
	"plimsoll/stats"
)

// flags are those of the verb.
type flags struct {
	root, good, bad, build, source, endpoint string
	merged, json, rate, keep                 bool
	budget, limit                            time.Duration
}

func parse(a *app.App, fs *flag.FlagSet, args []string) (f flags, rest []string, err error) {
	root := a.StoreFlag(fs)
	fs.StringVar(&f.good, "good", "", "`revision` of the last known good build")
	fs.StringVar(&f.bad, "bad", "", "`revision` of a bad build, which comes after it")
	fs.StringVar(&f.build, "build", "", "`command` that makes the build of a commit, without a shell: "+
		"{commit} is its name, {source} a work tree of it, {dir} an empty directory for a release, "+
		"{program} a file in its place for a single program")
	fs.StringVar(&f.source, "source", ".", "`directory` of the git repository of the commits")
	fs.BoolVar(&f.merged, "merged", false,
		"search the commits of merged branches too (default: along the first parents)")
	fs.StringVar(&f.endpoint, "endpoint", "",
		"`endpoint` of the plan whose change is looked for (default cost(app), or the plan's first)")
	fs.DurationVar(&f.budget, "budget", 0,
		"begin no more steps after this `time`; the same command goes on with the search")
	fs.DurationVar(&f.limit, "build-limit", 30*time.Minute, "longest `time` of one build")
	fs.BoolVar(&f.json, "json", false, "write the bisection as JSON")
	rate, keep := a.CalibrateFlag(fs), app.KeepFlag(fs)
	a.OutwardFlags(fs)
	rest, err = usage.Parse(fs, args, 1, bisect.MostBuilds+1)
	f.root, f.rate, f.keep = *root, *rate, *keep
	return f, rest, err
}

// Bisect is the verb.
func Bisect(ctx context.Context, a *app.App, fs *flag.FlagSet, args []string) error {
	f, rest, err := parse(a, fs, args)
	if err != nil {
		return err
	}
	p, endpoint, err := planOf(a, f, rest[len(rest)-1])
	if err != nil {
		return err
	}
	repository := source.Repository{Dir: f.source, Secrets: a.Secrets}
	builds, command, err := f.builds(ctx, repository, rest[:len(rest)-1])
	if err != nil {
		return err
	}
	if p.Networked() { // before the lock, which another process of this program needs
		if done, err := a.Program().Isolate(ctx, p, f.root); done || err != nil {
			return err
		}
	}
	st, err := store.Open(f.root)
	if err != nil {
		return err
	}
	st.Hide(a.Secrets)
	r := bisect.NewRecord(p, endpoint, command, builds)
	unlock, err := st.LockBisection(r.ID)
	if errors.Is(err, store.ErrBusy) {
		return plan.Usagef("%w; wait for it, or end it first", err)
	}
	if err != nil {
		return err
	}
	defer unlock()
	dir := st.BisectionDir(r.ID)
	r.Tool, r.Started = a.Program().Version, time.Now()
	if err := r.Load(dir); err != nil {
		return plan.UsageError{Err: err}
	}
	if !r.Over() {
		if err := search(ctx, a, f, p, r, dir); err != nil {
			return err
		}
	}
	return conclude(a, f, r, dir)
}

// planOf reads the plan and chooses the endpoint.
func planOf(a *app.App, f flags, file string) (p *plan.Plan, endpoint string, err error) {
	if p, err = a.ReadPlan(file); err != nil {
		return nil, "", err
	}
	switch {
	case p.Compare == nil:
		return nil, "", plan.Usagef("%s has no compare section; take the plan of the comparison "+
			"that has shown the change", file)
	case p.Uncombined() != "":
		return nil, "", plan.Usagef("%s: %s", file, p.Uncombined())
	case len(comparison.Engines(p)) > 1:
		return nil, "", plan.Usagef("%s: database.engine has %d engines; write the one on which to search",
			file, len(comparison.Engines(p)))
	}
	endpoint, err = bisect.EndpointOf(p, f.endpoint)
	return p, endpoint, err
}

// builds returns the range, and the command that makes its builds.
func (f flags) builds(
	ctx context.Context, of source.Repository, given []string,
) (builds []bisect.Build, command []string, err error) {
	if f.good == "" && f.bad == "" {
		if f.build != "" {
			return nil, nil, plan.Usagef("-build goes with -good and -bad, the revisions of the range")
		}
		for _, name := range given {
			builds = append(builds, bisect.Build{Name: name, Binary: name})
		}
		if len(builds) < 2 {
			return nil, nil, plan.Usagef("want -good, -bad, -build and a plan; or two builds or more, " +
				"oldest first, and a plan")
		}
		return builds, nil, nil
	}
	if len(given) > 0 {
		return nil, nil, plan.Usagef("%s: with -good and -bad the only argument is a plan", given[0])
	}
	if command, err = bisect.SplitCommand(f.build); err != nil {
		return nil, nil, err
	}
	builds, err = bisect.BuildsOf(ctx, of, f.good, f.bad, f.merged)
	return builds, command, err
}

// search carries out the steps that are left.
func search(ctx context.Context, a *app.App, f flags, p *plan.Plan, r *bisect.Record, dir string) error {
	began := time.Now()
	maker := &bisect.BuildMaker{
		Command:    r.Command,
		Repository: source.Repository{Dir: f.source, Secrets: a.Secrets},
		Root:       f.root,
		Limit:      f.limit,
		Secrets:    a.Secrets,
	}
	b := &bisect.Bisection{
		Record: r,
		Make:   maker.Make,
		Save:   func() error { return r.Save(dir, a.Secrets) },
		Say:    func(format string, args ...any) { plain.Fprintf(a.Stderr, format+"\n", args...) },
		Now:    time.Now,
	}
	if f.budget > 0 {
		b.Until = began.Add(f.budget)
	}
	b.Say("bisection %s: %d builds, %s", r.ID, len(r.Builds), r.Endpoint)
	if err := b.MakeEnds(ctx); err != nil {
		return err
	}
	p = a.Dialects().WithDefaultRules(p)
	ends := bisect.Between(p, r.Endpoint, r.Builds[0], r.Builds[len(r.Builds)-1], stats.MinPairs)
	if _, err := a.Known().Parse([]byte(ends.String())); err != nil {
		return plan.UsageError{Err: plain.Below(err, "the plan is no good with these builds")}
	}
	s, end, err := session.Begin(ctx, a.Program(), ends, f.root, f.rate)
	if err != nil {
		return err
	}
	defer end()
	maker.CPUs = slices.Concat(s.Cores.Generator, s.Cores.Target)
	b.Say = s.Progress.Say
	c := &bisect.Comparer{Session: s, Plan: p, Endpoint: r.Endpoint, Options: compare.Options{
		Keep: f.keep,
		Readers: func(ctx context.Context) []comparison.Reader {
			return []comparison.Reader{a.Catalog().Costs(ctx)}
		},
	}}
	if err := c.Continue(r.Steps); err != nil {
		return err
	}
	b.Measure, b.Recall = c.Measure, c.Recall
	if r.Command != nil {
		b.Suspects = func(ctx context.Context, id string) (*suspects.SuspectSearch, error) {
			return suspectsOf(ctx, a, s.Store, maker.Repository, r, id)
		}
	}
	return b.Carry(ctx)
}

// suspectsOf looks for the commits of the range that touch what a comparison of its ends has found.
func suspectsOf(ctx context.Context, a *app.App, st *store.Store, from source.Repository,
	r *bisect.Record, id string) (*suspects.SuspectSearch, error) {
	c, err := st.Comparison(id)
	if err != nil {
		return nil, err
	}
	p, err := read.PlanOf(a, c)
	if err != nil {
		return nil, err
	}
	doc, _, _, err := a.Catalog().Document(ctx, c, p, st.Run)
	if err != nil {
		return nil, err
	}
	of, statements := doc.Changed()
	found := from.Search(ctx, r.Builds[0].Name, r.Builds[len(r.Builds)-1].Name, of, statements)
	return &found, nil
}

// conclude prints the answer, and returns its status.
func conclude(a *app.App, f flags, r *bisect.Record, dir string) error {
	if f.json {
		if err := a.JSON(r); err != nil {
			return err
		}
	} else {
		for _, line := range r.Lines() {
			plain.Fprintf(a.Stdout, "%s\n", line)
		}
		plain.Fprintf(a.Stdout, "report: %s\n", filepath.Join(dir, bisect.ReportFile))
	}
	if r.State != record.Sealed {
		plain.Fprintf(a.Stderr, "plimsoll: %s; the same command goes on with it\n",
			cmp.Or(r.Why, "it was interrupted"))
	}
	return exit.With(exit.Bisected(r.State, r.Answer, r.Worse(), r.OverBudget()))
}
