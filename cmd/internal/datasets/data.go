// Package datasets holds the verb for the contents of a server before a test: it makes, keeps,
// restores and checks them.
package datasets

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/cmd/internal/app"
	"plimsoll/cmd/internal/own"
	"plimsoll/cmd/internal/usage"
	"plimsoll/internal/files"
	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/reference/dataset"
	"plimsoll/reference/dataset/dump"
	"plimsoll/reference/dataset/mattermost"
	data "plimsoll/reference/dataset/refchat"
	"plimsoll/run/deploy/dumps"
	"plimsoll/run/deploy/stores"
)

// dataTimeout is the default limit of a data verb.
const dataTimeout = 2 * time.Hour

// Data makes, keeps, restores and checks the contents of a server before a test begins.
func Data(ctx context.Context, a *app.App, fs *flag.FlagSet, args []string) error {
	actions := map[string]func(context.Context, *app.App, *flag.FlagSet, []string) error{
		"generate": dataGenerate, "snapshot": dataSnapshot, "restore": dataRestore, "verify": dataVerify, "info": dataInfo,
	}
	if len(args) > 0 && actions[args[0]] != nil {
		fs.Init("data "+args[0], flag.ContinueOnError)
		return actions[args[0]](ctx, a, fs, args[1:])
	}
	if len(args) > 0 && (args[0] == "-h" || args[0] == "-help" || args[0] == "--help") {
		return flag.ErrHelp
	}
	return plan.Usagef("want data generate, snapshot, restore, verify or info; see plimsoll data generate -h and so on")
}

// timed gives ctx the deadline of the flag -timeout.
func timed(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("not done within %v; -timeout gives it longer", d))
}

func dataSnapshot(ctx context.Context, a *app.App, fs *flag.FlagSet, args []string) error {
	database := fs.String("db", "chat", "name of the database in it")
	dsnEnv := fs.String("dsn-env", "", "`name` of the environment variable with the DSN of a running database to back up, instead of a state directory")
	timeout := fs.Duration("timeout", dataTimeout, "end after this time")
	asJSON := fs.Bool("json", false, "write the result as JSON")
	rest, err := usage.Parse(fs, args, 1, 2)
	if err != nil {
		return err
	}
	dsn := ""
	if *dsnEnv != "" {
		dsn = a.Secret(*dsnEnv)
	}
	switch {
	case *dsnEnv != "" && dsn == "":
		return plan.Usagef("-dsn-env=%s: the environment variable is not set", *dsnEnv)
	case (*dsnEnv == "") != (len(rest) == 2):
		return plan.Usagef("want data snapshot STATE DIR, or data snapshot -dsn-env NAME DIR")
	}
	ctx, cancel := timed(ctx, *timeout)
	defer cancel()
	m := &dumps.Maker{Tool: own.Version(), Progress: a.NewProgress()}
	defer m.Progress.End()
	began := time.Now()
	dir := rest[len(rest)-1]
	var d *dump.Dump
	if dsn != "" {
		d, err = m.Backup(ctx, dsn, dir)
	} else {
		d, err = m.Snapshot(ctx, rest[0], *database, dir)
	}
	if err != nil {
		return err
	}
	x := Made{Dir: dir, Digest: d.Digest(), Engine: d.Manifest.Engine, Server: d.Manifest.Server, Bytes: d.Manifest.DataBytes, Seconds: time.Since(began).Seconds(), Tables: d.Manifest.Tables}
	if *asJSON {
		return a.JSON(x)
	}
	plain.Fprintf(a.Stdout, "%s: %s, %.2f GB, sha256 %s, in %.1f s\n", x.Dir, dumps.Text(d), float64(x.Bytes)/1e9, x.Digest[:12], x.Seconds)
	return nil
}

// Restored is the output of restore with -json. Times are in seconds.
type Restored struct {
	Dir     string  `json:"dir"`
	Bytes   int64   `json:"bytes"`
	Restore float64 `json:"restore"`         // until the server answered
	Reset   float64 `json:"reset,omitempty"` // to the same state once more, as between two runs
	Copy    float64 `json:"copy,omitempty"`  // cp -a of the same data
	Sync    float64 `json:"sync,omitempty"`  // of that copy, until it was on disk
}

func dataRestore(ctx context.Context, a *app.App, fs *flag.FlagSet, args []string) error {
	copied := fs.Bool("plain", false, "also time a plain copy (cp -a) of the same data, and a reset as between two runs")
	timeout := fs.Duration("timeout", dataTimeout, "end after this time")
	asJSON := fs.Bool("json", false, "write the times as JSON")
	script := scriptFlags(fs)
	way := fs.String("reset", "", "how -plain resets: copy, reflink or image; the default is the best that this host has for the size")
	rest, err := usage.Parse(fs, args, 2, 2)
	if err != nil {
		return err
	}
	if dumps.IsSQLFile(rest[0]) {
		return restoreScript(ctx, a, rest[0], rest[1], script, *timeout, *asJSON)
	}
	d, err := dump.Open(rest[0])
	if err == nil {
		err = d.Whole()
	}
	if err != nil {
		return plan.UsageError{Err: err}
	}
	dir := rest[1]
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return plan.Usagef("%s is not empty; name a directory that is, or that does not exist", dir)
	}
	if err := dump.CheckSpace(dir, 2*d.Manifest.DataBytes); err != nil {
		return err
	}
	ctx, cancel := timed(ctx, *timeout)
	defer cancel()
	prog := a.NewProgress()
	defer prog.End()
	prog.What("restoring "+rest[0], 0)
	x := Restored{Dir: dir, Bytes: d.Manifest.DataBytes}
	if *copied {
		prog.Doing("plain copy", 0)
		if x.Copy, x.Sync, err = plainCopy(ctx, d.Data(), filepath.Clean(dir)+".plain"); err != nil {
			return err
		}
	}
	prog.Doing("copying and starting the server", 0)
	began := time.Now()
	s, err := stores.Start(ctx, d.Manifest.Engine, dir, d.Data(), *way, nil)
	if err != nil {
		return fmt.Errorf("restoring %s: %w", rest[0], errors.Join(err, stores.RemoveState(dir)))
	}
	x.Restore = time.Since(began).Seconds()
	if *copied {
		prog.Doing("resetting", 0)
		if err = s.Snapshot(ctx, d.Manifest.Database); err == nil {
			began = time.Now()
			err = s.Restore(ctx, d.Manifest.Database)
			x.Reset = time.Since(began).Seconds()
		}
	}
	stop, cancelStop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancelStop()
	if err := errors.Join(err, s.Stop(stop)); err != nil {
		return err
	}
	prog.End()
	if *asJSON {
		return a.JSON(x)
	}
	plain.Fprintf(a.Stdout, "%s: %.2f GB restored in %.1f s, until the server answered", dir, float64(x.Bytes)/1e9, x.Restore)
	if *copied {
		plain.Fprintf(a.Stdout, "; a reset as between two runs takes %.1f s; cp -a of the same data takes %.1f s, and %.1f s until it is on disk: restore is %.2f times that",
			x.Reset, x.Copy, x.Copy+x.Sync, x.Restore/(x.Copy+x.Sync))
	}
	_, err = plain.Fprintf(a.Stdout, "\n")
	return err
}

// plainCopy times cp -a and the time until the copy is on disk, and removes the copy.
func plainCopy(ctx context.Context, from, to string) (cp, sync float64, err error) {
	if _, err := os.Lstat(to); err == nil {
		return 0, 0, plan.Usagef("%s, where -plain copies to, is there already; remove it, or restore to another directory", to)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(to)) }()
	for i, args := range [][]string{{"cp", "-a", from, to}, {"sync", "-f", to}} {
		began := time.Now()
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			return 0, 0, fmt.Errorf("%s: %w: %s", args[0], err, out)
		}
		*[]*float64{&cp, &sync}[i] = time.Since(began).Seconds()
	}
	return cp, sync, nil
}

func dataVerify(ctx context.Context, a *app.App, fs *flag.FlagSet, args []string) error {
	files := fs.Bool("files", false, "only compare the files, without starting a server")
	dsnEnv := fs.String("dsn-env", "", "`name` of the environment variable with the DSN of a database to compare with the dump's manifest, instead of the dump")
	timeout := fs.Duration("timeout", dataTimeout, "end after this time")
	asJSON := fs.Bool("json", false, "write the findings as JSON")
	rest, err := usage.Parse(fs, args, 1, 1)
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
	prog := a.NewProgress()
	defer prog.End()
	prog.What("verifying "+rest[0], 0)
	var problems []string
	inDatabase := func(dsn string) error {
		prog.Doing("reading the tables", 0)
		have, err := dump.Tables(ctx, dsn)
		if err != nil {
			return err
		}
		problems = append(problems, dump.Compare(d.Manifest.Tables, have)...)
		if d.Manifest.Schema == "" {
			return nil
		}
		prog.Doing("looking for contradictions", 0)
		found, err := data.Check(ctx, dsn)
		problems = append(problems, found...)
		return err
	}
	if *dsnEnv != "" {
		dsn := a.Env(*dsnEnv)
		if dsn == "" {
			return plan.Usagef("-dsn-env=%s: the environment variable is not set", *dsnEnv)
		}
		if err := inDatabase(dsn); err != nil {
			return err
		}
	} else {
		prog.Doing("reading the files", 0)
		if problems, err = d.VerifyFiles(ctx); err != nil {
			return err
		}
		if !*files && len(problems) == 0 {
			if err := dump.CheckSpace(rest[0], 2*d.Manifest.DataBytes); err != nil {
				return err
			}
			prog.Doing("starting a server on a copy", 0)
			if err := stores.Temporarily(ctx, d.Manifest.Engine, rest[0], d.Data(), nil, func(s *stores.Server) error {
				return inDatabase(s.DSN(d.Manifest.Database))
			}); err != nil {
				return err
			}
		}
	}
	prog.End()
	if *asJSON {
		if err := a.JSON(map[string]any{"dump": rest[0], "digest": d.Digest(), "problems": append([]string{}, problems...)}); err != nil {
			return err
		}
	} else {
		for _, p := range problems {
			plain.Fprintf(a.Stdout, "%v\n", p)
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("%s is not what its manifest says: %d differences", cmp.Or(*dsnEnv, rest[0]), len(problems))
	}
	if !*asJSON {
		plain.Fprintf(a.Stdout, "%s is what its manifest says: %s\n", cmp.Or(*dsnEnv, rest[0]), dumps.Text(d))
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
	plain.Fprintf(a.Stdout, "%s can be imported: %d teams, %d channels, %d users, %d direct channels, %s posts, of which %s replies, %s reactions, %d attachments\n",
		path, n.Teams, n.Channels, n.Users, n.DirectChannels, plain.Thousands(n.Posts), plain.Thousands(n.Replies), plain.Thousands(n.Reactions), n.Attachments)
	return nil
}

// dataInfo prints the manifest of a dump, or the figures of a spec.
func dataInfo(ctx context.Context, a *app.App, fs *flag.FlagSet, args []string) error {
	asJSON := fs.Bool("json", false, "write it as JSON")
	change := specFlags(fs)
	rest, err := usage.Parse(fs, args, 1, 1)
	if err != nil {
		return err
	}
	if files.IsDir(rest[0]) {
		d, err := dump.Open(rest[0])
		if err != nil {
			return plan.UsageError{Err: err}
		}
		if *asJSON {
			m := d.Manifest
			m.Files = nil
			return a.JSON(map[string]any{"digest": d.Digest(), "manifest": m})
		}
		m := d.Manifest
		plain.Fprintf(a.Stdout, "%s\n%s, database %s, %.2f GB in %d files, made %s by plimsoll %s\n", dumps.Text(d), m.Server, m.Database, float64(m.DataBytes)/1e9,
			len(m.Files), m.Made.Format(time.RFC3339), m.Tool)
		for _, t := range slices.SortedFunc(slices.Values(m.Tables), func(a, b dump.Table) int { return cmp.Compare(b.Rows, a.Rows) }) {
			if t.Rows > 0 {
				plain.Fprintf(a.Stdout, "  %-20s %12s rows\n", t.Name, plain.Thousands(int(t.Rows)))
			}
		}
		return nil
	}
	spec, err := dumps.ReadSpec(rest[0])
	if err != nil {
		return err
	}
	if err := change(&spec); err != nil {
		return err
	}
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
	if *asJSON {
		return a.JSON(map[string]any{"spec": spec, "spec_sha256": spec.Digest(), "counts": t.Counts, "channels": p.Channels(), "memberships": members, "bytes": dumps.BytesOf(spec), "bytes_by_engine": map[string]int64{plan.PostgreSQL: dumps.BytesOn(plan.PostgreSQL, spec), plan.MySQL: dumps.BytesOn(plan.MySQL, spec)}})
	}
	plain.Fprintf(a.Stdout, "%s\nsha256 %s\n%s channels with %s memberships; %s posts, of which %s replies in %s threads; %s reactions, %s files\n%s\n", plain.Block(spec.String()), spec.Digest()[:12],
		plain.Thousands(p.Channels()), plain.Thousands(members), plain.Thousands(t.Counts.Posts), plain.Thousands(t.Counts.Replies), plain.Thousands(t.Counts.Threads), plain.Thousands(t.Counts.Reactions), plain.Thousands(t.Counts.Files), dumps.BytesText(spec))
	return nil
}
