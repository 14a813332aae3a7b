package datasets

import (
	"cmp"
	"context"
	"slices"
	"time"

	"plimsoll/cmd/internal/app"
	"plimsoll/internal/files"
	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/reference/dataset"
	"plimsoll/reference/dataset/dump"
	"plimsoll/run/deploy/dumps"
)

// dataInfo prints the manifest of a dump, or the figures of a spec.
func dataInfo(ctx context.Context, a *app.App) error {
	asJSON := a.Flags.Bool("json", false, "write it as JSON")
	change := specFlags(a.Flags)
	rest, err := a.Parse(1, 1)
	if err != nil {
		return err
	}
	if files.IsDir(rest[0]) {
		return dumpInfo(a, rest[0], *asJSON)
	}
	spec, err := dumps.ReadSpec(rest[0])
	if err != nil {
		return err
	}
	if err := change(&spec); err != nil {
		return err
	}
	return specInfo(ctx, a, spec, *asJSON)
}

// dumpInfo prints the manifest of a dump.
func dumpInfo(a *app.App, dir string, asJSON bool) error {
	d, err := dump.Open(dir)
	if err != nil {
		return plan.UsageError{Err: err}
	}
	m := d.Manifest
	if asJSON {
		m.Files = nil
		return a.JSON(map[string]any{"digest": d.Digest(), "manifest": m})
	}
	a.Printf(
		"%s\n%s, database %s, %.2f GB in %d files, made %s by plimsoll %s\n",
		dumps.Text(d),
		m.Server,
		m.Database,
		float64(m.DataBytes)/1e9,
		len(m.Files),
		m.Made.Format(time.RFC3339),
		m.Tool,
	)
	for _, t := range slices.SortedFunc(slices.Values(m.Tables), func(a, b dump.Table) int {
		return cmp.Compare(b.Rows, a.Rows)
	}) {
		if t.Rows > 0 {
			a.Printf("  %-20s %12s rows\n", t.Name, plain.Thousands(int(t.Rows)))
		}
	}
	return nil
}

// specInfo prints the figures of a spec.
func specInfo(ctx context.Context, a *app.App, spec dataset.Spec, asJSON bool) error {
	p, err := dataset.New(spec)
	if err != nil {
		return plan.UsageError{Err: err}
	}
	t, err := p.Totals(ctx, 2, nil)
	if err != nil {
		return err
	}
	members := 0
	for c := range p.Channels() {
		members += p.Channel(c).Members
	}
	if asJSON {
		return a.JSON(map[string]any{
			"spec":        spec,
			"spec_sha256": spec.Digest(),
			"counts":      t.Counts,
			"channels":    p.Channels(),
			"memberships": members,
			"bytes":       dumps.BytesOf(spec),
			"bytes_by_engine": map[string]int64{
				plan.PostgreSQL: dumps.BytesOn(plan.PostgreSQL, spec),
				plan.MySQL:      dumps.BytesOn(plan.MySQL, spec),
			},
		})
	}
	a.Printf(
		"%s\nsha256 %s\n%s channels with %s memberships; %s posts, of which %s replies in %s threads; %s reactions, %s files\n%s\n",
		plain.Block(spec.String()),
		spec.Digest()[:12],
		plain.Thousands(p.Channels()),
		plain.Thousands(members),
		plain.Thousands(t.Counts.Posts),
		plain.Thousands(t.Counts.Replies),
		plain.Thousands(t.Counts.Threads),
		plain.Thousands(t.Counts.Reactions),
		plain.Thousands(t.Counts.Files),
		dumps.BytesText(spec),
	)
	return nil
}
