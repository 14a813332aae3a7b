package bisect

import (
	"context"
	"slices"
	"time"

	"plimsoll/evidence"
	"plimsoll/internal/plain"
	"plimsoll/judge/comparison"
	"plimsoll/judge/suspects"
	"plimsoll/plan"
	"plimsoll/record/store"
	"plimsoll/run/compare"
	"plimsoll/run/session"
	"plimsoll/run/source"
	"plimsoll/stats"
)

// Options are those of a search beyond what makes it this one and no other.
type Options struct {
	Program *session.Program
	Catalog *evidence.Catalog
	Known   plan.Known
	Root    string            // of the store
	Source  source.Repository // of the commits
	Limit   time.Duration     // of one build
	Budget  time.Duration     // after which no step begins; 0 for none
	Rate    bool              // the host's generator first
	Keep    bool              // the state directories of the systems under test
}

// Search carries out the steps of a bisection by a plan that are left, and saves it in its
// directory.
func (r *Record) Search(ctx context.Context, o Options, p *plan.Plan, dir string) error {
	maker := &BuildMaker{
		Command:    r.Command,
		Repository: o.Source,
		Root:       o.Root,
		Limit:      o.Limit,
		Secrets:    o.Program.Secrets,
	}
	b := &Bisection{
		Record: r,
		Make:   maker.Make,
		Save:   func() error { return r.Save(dir, o.Program.Secrets) },
		Say:    func(format string, args ...any) { plain.Fprintf(o.Program.Warn, format+"\n", args...) },
		Now:    time.Now,
	}
	if o.Budget > 0 {
		b.Until = time.Now().Add(o.Budget)
	}
	b.Say("bisection %s: %d builds, %s", r.ID, len(r.Builds), r.Endpoint)
	if err := b.MakeEnds(ctx); err != nil {
		return err
	}
	p = o.Program.Dialects.WithDefaultRules(p)
	ends := Between(p, r.Endpoint, r.Builds[0], r.Builds[len(r.Builds)-1], stats.MinPairs)
	if _, err := o.Known.Parse([]byte(ends.String())); err != nil {
		return plan.UsageError{Err: plain.Below(err, "the plan is no good with these builds")}
	}
	s, end, err := session.Begin(ctx, o.Program, ends, o.Root, o.Rate)
	if err != nil {
		return err
	}
	defer end()
	maker.CPUs = slices.Concat(s.Cores.Generator, s.Cores.Target)
	b.Say = s.Progress.Say
	c := &Comparer{Session: s, Plan: p, Endpoint: r.Endpoint, Options: compare.Options{
		Keep: o.Keep,
		Step: true,
		Readers: func(ctx context.Context) []comparison.Reader {
			return []comparison.Reader{o.Catalog.Costs(ctx)}
		},
	}}
	if err := c.Continue(r.Steps); err != nil {
		return err
	}
	b.Measure, b.Recall = c.Measure, c.Recall
	if r.Command != nil {
		b.Suspects = func(ctx context.Context, id string) (*suspects.SuspectSearch, error) {
			return r.suspects(ctx, o, s.Store, id)
		}
	}
	return b.Carry(ctx)
}

// suspects looks for the commits of the range that touch what a comparison of its ends has found.
func (r *Record) suspects(
	ctx context.Context, o Options, st *store.Store, id string,
) (*suspects.SuspectSearch, error) {
	c, err := st.Comparison(id)
	if err != nil {
		return nil, err
	}
	p, err := evidence.PlanOf(c)
	if err != nil {
		return nil, err
	}
	doc, _, _, err := o.Catalog.Document(ctx, c, p, st.Run)
	if err != nil {
		return nil, err
	}
	of, statements := doc.Changed()
	found := o.Source.Search(ctx, r.Builds[0].Name, r.Builds[len(r.Builds)-1].Name, of, statements)
	return &found, nil
}
