package datasets

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"plimsoll/cmd/internal/app"
	"plimsoll/internal/files"
	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/reference/dataset/dump"
	"plimsoll/reference/dataset/mattermost"
	data "plimsoll/reference/dataset/refchat"
	"plimsoll/run/audience"
	"plimsoll/run/deploy/dumps"
	"plimsoll/run/deploy/stores"
)

// dataVerify compares a dump, or a database, with the dump's manifest.
func dataVerify(ctx context.Context, a *app.App) error {
	fs := a.Flags
	onlyFiles := fs.Bool("files", false, "only compare the files, without starting a server")
	dsnEnv := fs.String(
		"dsn-env",
		"",
		"`name` of the environment variable with the DSN of a database to compare with the dump's manifest, instead of the dump",
	)
	timeout := fs.Duration("timeout", dataTimeout, "end after this time")
	asJSON := fs.Bool("json", false, "write the findings as JSON")
	rest, err := a.Parse(1, 1)
	if err != nil {
		return err
	}
	ctx, cancel := timed(ctx, *timeout)
	defer cancel()
	if strings.HasSuffix(rest[0], ".jsonl") {
		return verifyImport(ctx, a, rest[0], *asJSON)
	}
	d, err := dump.Open(rest[0])
	if err != nil {
		return plan.UsageError{Err: err}
	}
	v := verification{dump: d, dir: rest[0], progress: a.NewProgress()}
	defer v.progress.End()
	v.progress.What("verifying "+rest[0], 0)
	switch {
	case *dsnEnv == "":
		err = v.whole(ctx, *onlyFiles)
	case a.Env(*dsnEnv) == "":
		err = plan.Usagef("-dsn-env=%s: the environment variable is not set", *dsnEnv)
	default:
		err = v.database(ctx, a.Env(*dsnEnv))
	}
	if err != nil {
		return err
	}
	v.progress.End()
	return v.report(a, cmp.Or(*dsnEnv, rest[0]), *asJSON)
}

// A verification is a dump with its differences from its manifest.
type verification struct {
	dump     *dump.Dump
	dir      string
	progress *audience.Reporter
	problems []string
}

// database compares the tables of a database with the manifest.
func (v *verification) database(ctx context.Context, dsn string) error {
	v.progress.Doing("reading the tables", 0)
	have, err := dump.Tables(ctx, dsn)
	if err != nil {
		return err
	}
	m := v.dump.Manifest
	v.problems = append(v.problems, dump.Compare(m.Tables, have)...)
	if m.Schema == "" {
		return nil
	}
	v.progress.Doing("looking for contradictions", 0)
	found, err := data.Check(ctx, dsn)
	v.problems = append(v.problems, found...)
	return err
}

// whole compares the files of the dump and, when they are good, the tables of a server on a copy.
func (v *verification) whole(ctx context.Context, onlyFiles bool) (err error) {
	v.progress.Doing("reading the files", 0)
	if v.problems, err = v.dump.VerifyFiles(ctx); err != nil || onlyFiles || len(v.problems) > 0 {
		return err
	}
	m := v.dump.Manifest
	if err := dump.CheckSpace(v.dir, 2*m.DataBytes); err != nil {
		return err
	}
	v.progress.Doing("starting a server on a copy", 0)
	return stores.Temporarily(
		ctx,
		m.Engine,
		v.dir,
		v.dump.Data(),
		nil,
		func(s *stores.Server) error {
			return v.database(ctx, s.DSN(m.Database))
		},
	)
}

// report prints the differences of what was compared; any is an error.
func (v *verification) report(a *app.App, what string, asJSON bool) error {
	if asJSON {
		out := map[string]any{
			"dump":     v.dir,
			"digest":   v.dump.Digest(),
			"problems": append([]string{}, v.problems...),
		}
		if err := a.JSON(out); err != nil {
			return err
		}
	} else {
		for _, p := range v.problems {
			a.Printf("%v\n", p)
		}
	}
	if len(v.problems) > 0 {
		return fmt.Errorf("%s is not what its manifest says: %d differences", what, len(v.problems))
	}
	if !asJSON {
		a.Printf("%s is what its manifest says: %s\n", what, dumps.Text(v.dump))
	}
	return nil
}

// verifyImport holds a file for bulk import to its documentation.
func verifyImport(ctx context.Context, a *app.App, path string, asJSON bool) error {
	f, err := files.Open(path)
	if err != nil {
		return plan.UsageError{Err: err}
	}
	defer f.Close()
	n, err := mattermost.Check(ctx, io.Reader(f))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if asJSON {
		return a.JSON(n)
	}
	a.Printf(
		"%s can be imported: %d teams, %d channels, %d users, %d direct channels, %s posts, of which %s replies, %s reactions, %d attachments\n",
		path,
		n.Teams,
		n.Channels,
		n.Users,
		n.DirectChannels,
		plain.Thousands(n.Posts),
		plain.Thousands(n.Replies),
		plain.Thousands(n.Reactions),
		n.Attachments,
	)
	return nil
}
