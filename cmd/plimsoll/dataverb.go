package main

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

	"plimsoll/cmd/internal/own"
	chat "plimsoll/dialect/mattermost"
	"plimsoll/internal/files"
	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/reference/dataset"
	"plimsoll/reference/dataset/dump"
	"plimsoll/reference/dataset/mattermost"
	data "plimsoll/reference/dataset/refchat"
	"plimsoll/reference/refchat"
	"plimsoll/rig"
)

// dataTimeout is the default limit of a data verb.
const dataTimeout = 2 * time.Hour

// data makes, keeps, restores and checks the contents of a server before a test begins.
func (a *app) data(ctx context.Context, fs *flag.FlagSet, args []string) error {
	actions := map[string]func(*app, context.Context, *flag.FlagSet, []string) error{
		"generate": (*app).dataGenerate, "snapshot": (*app).dataSnapshot, "restore": (*app).dataRestore, "verify": (*app).dataVerify, "info": (*app).dataInfo,
	}
	if len(args) > 0 && actions[args[0]] != nil {
		fs.Init("data "+args[0], flag.ContinueOnError)
		return actions[args[0]](a, ctx, fs, args[1:])
	}
	if len(args) > 0 && (args[0] == "-h" || args[0] == "-help" || args[0] == "--help") {
		fs.Usage()
		return flag.ErrHelp
	}
	return plan.Usagef("want data generate, snapshot, restore, verify or info; see plimsoll data generate -h and so on")
}

// timed gives ctx the deadline of the flag -timeout.
func timed(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, fmt.Errorf("not done within %v; -timeout gives it longer", d))
}

// specFlags add the flags that change a spec, and return the function that applies them.
func specFlags(fs *flag.FlagSet) func(s *dataset.Spec) error {
	name := fs.String("name", "", "name of the dataset (default the spec's)")
	team := fs.String("team", "", "name of the first team and beginning of all names; simulated users look for those of their setting team (default plimsoll)")
	seed := fs.Uint64("seed", 0, "seed of every choice (default the spec's)")
	n := map[string]*int{}
	for key, text := range map[string]string{"users": "users", "teams": "teams", "channels": "channels of all types", "posts": "posts, replies included", "days": "days over which the posts are spread"} {
		n[key] = fs.Int(key, 0, text+" (default the spec's)")
	}
	return func(s *dataset.Spec) error {
		fs.Visit(func(f *flag.Flag) {
			switch f.Name {
			case "name":
				s.Name = *name
			case "team":
				s.Team = *team
			case "seed":
				s.Seed = *seed
			case "users":
				s.Users = *n["users"]
			case "teams":
				s.Teams = *n["teams"]
			case "channels":
				s.Channels = *n["channels"]
			case "posts":
				s.Posts = *n["posts"]
			case "days":
				s.History = dataset.Days(*n["days"])
			}
		})
		if err := s.Check(); err != nil {
			return plan.UsageError{Err: err}
		}
		return nil
	}
}

// A madeDump is the output of generate and snapshot with -json.
type madeDump struct {
	Dir     string       `json:"dir"`
	Digest  string       `json:"digest"`
	Engine  string       `json:"engine"`
	Server  string       `json:"server"`
	Bytes   int64        `json:"bytes"`
	Result  *data.Result `json:"result,omitempty"`
	Seconds float64      `json:"seconds"`
	Tables  []dump.Table `json:"tables"`
}

// formatReference is the format of the reference server's own database. It has the name of the driver.
const formatReference = chat.Refchat

func (a *app) dataGenerate(ctx context.Context, fs *flag.FlagSet, args []string) error {
	out := fs.String("o", "", "directory of the dump to make, or file for -format=mattermost")
	engines := fs.String("engine", plan.PostgreSQL, "database engine, or several separated by commas, each then in a directory of its name")
	format := fs.String("format", formatReference, "refchat: the reference server's database; mattermost: a file for Mattermost's bulk import")
	attachments := fs.Bool("attachments", false, "-format=mattermost: also write attachments, 1 MB in a directory beside the file")
	dsnEnv := fs.String("dsn-env", "", "`name` of the environment variable with the DSN of an empty database to fill, instead of making a dump")
	hash := fs.String("hash", refchat.DefaultHash, "how the users' password is hashed: bcrypt:COST or pbkdf2:ITERATIONS; that of the server under test")
	timeout := fs.Duration("timeout", dataTimeout, "end after this time")
	asJSON := fs.Bool("json", false, "write the result as JSON")
	change := specFlags(fs)
	rest, err := parse(fs, args, 0, 1)
	if err != nil {
		return err
	}
	spec, err := rig.ReadSpec(append(rest, "tiny")[0])
	if err != nil {
		return err
	}
	if err := change(&spec); err != nil {
		return err
	}
	ctx, cancel := timed(ctx, *timeout)
	defer cancel()
	m := &rig.Maker{Tool: own.Version(), Progress: a.newProgress(), Password: a.secret("PLIMSOLL_USER_PASSWORD"), Hash: *hash}
	defer m.Progress.End()
	switch {
	case *format == "mattermost":
		return a.writeImport(ctx, m, spec, *out, *attachments, *asJSON)
	case *format != formatReference:
		return plan.Usagef("-format=%s: want refchat or mattermost", *format)
	case (*out == "") == (*dsnEnv == ""):
		return plan.Usagef("want either -o DIR, for a dump, or -dsn-env NAME, for a database that is there")
	case *dsnEnv != "":
		return a.fill(ctx, m, spec, *dsnEnv, *asJSON)
	}
	list := strings.Split(*engines, ",")
	var made []madeDump
	for _, engine := range list {
		dir := *out
		if len(list) > 1 {
			dir = filepath.Join(dir, engine)
		}
		if engine != plan.PostgreSQL && engine != plan.MySQL {
			return plan.Usagef("-engine=%s: want %s, %s, or both", engine, plan.PostgreSQL, plan.MySQL)
		}
		began := time.Now()
		d, res, err := m.Generate(ctx, spec, engine, dir)
		if err != nil {
			return fmt.Errorf("generating %s on %s: %w", spec.Name, engine, err)
		}
		x := madeDump{Dir: dir, Digest: d.Digest(), Engine: engine, Server: d.Manifest.Server, Bytes: d.Manifest.DataBytes, Result: &res,
			Seconds: time.Since(began).Seconds(), Tables: d.Manifest.Tables}
		made = append(made, x)
		if !*asJSON {
			a.sayLoaded(spec, x.Server, res)
			plain.Fprintf(a.stdout, "%s: %.2f GB, sha256 %s, %.1f s in all\n", dir, float64(x.Bytes)/1e9, x.Digest[:12], x.Seconds)
		}
	}
	if *asJSON {
		return a.json(made)
	}
	return nil
}

func (a *app) sayLoaded(spec dataset.Spec, server string, res data.Result) {
	var rows int64
	for _, n := range res.Rows {
		rows += n
	}
	plain.Fprintf(a.stdout, "%s on %s: %s posts, %s rows in all loaded in %.1f s (%.0f MB/s), %d indexes in %.1f s, statistics in %.1f s: %.1f s together\n",
		spec.Name, server, rig.Thousands(spec.Posts), rig.Thousands(int(rows)), res.Load.Seconds(), float64(res.Bytes)/1e6/max(res.Load.Seconds(), 1e-3),
		res.Indexes, res.Build.Seconds(), res.Settle.Seconds(), (res.Load + res.Build + res.Settle).Seconds())
}

// fill loads into a database that is there.
func (a *app) fill(ctx context.Context, m *rig.Maker, spec dataset.Spec, dsnEnv string, asJSON bool) error {
	dsn := a.env(dsnEnv)
	if dsn == "" {
		return plan.Usagef("-dsn-env=%s: the environment variable is not set", dsnEnv)
	}
	p, err := dataset.New(spec)
	if err != nil {
		return plan.UsageError{Err: err}
	}
	m.Progress.What(spec.Name, 0)
	res, err := m.Load(ctx, dsn, p)
	m.Progress.End()
	if err != nil {
		return fmt.Errorf("loading %s: %w", spec.Name, err)
	}
	if asJSON {
		return a.json(res)
	}
	a.sayLoaded(spec, "the database of "+dsnEnv, res)
	return nil
}

// writeImport writes a file for Mattermost's bulk import; it appears whole.
func (a *app) writeImport(ctx context.Context, m *rig.Maker, spec dataset.Spec, out string, attachments, asJSON bool) (err error) {
	if out == "" {
		return plan.Usagef("-format=mattermost needs -o FILE, or -o - for standard output")
	}
	p, err := dataset.New(spec)
	if err != nil {
		return plan.UsageError{Err: err}
	}
	opt := mattermost.Options{Password: m.Password, Attachments: attachments, Progress: func(n int) {
		m.Progress.Step("posts", fmt.Sprintf("posts %3.0f %%", 100*float64(n)/float64(spec.Posts)), 0)
	}}
	m.Progress.What(spec.Name, 0)
	began := time.Now()
	if out == "-" {
		data, _ := a.raw() // the accounts' password is part of it
		return mattermost.Write(ctx, data, p, opt)
	}
	if err := dump.CheckSpace(out, int64(spec.Posts)*600); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	f, err := os.Create(out + ".part")
	if err != nil {
		return err
	}
	defer func() {
		if err == nil {
			return
		}
		if rerr := os.Remove(out + ".part"); !errors.Is(rerr, os.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}()
	if err := errors.Join(mattermost.Write(ctx, f, p, opt), f.Close()); err != nil {
		return err
	}
	if attachments {
		if err := mattermost.WriteAttachments(filepath.Dir(out)); err != nil {
			return err
		}
	}
	if err := files.Settle(files.OS{}, out+".part", out); err != nil {
		return err
	}
	m.Progress.End()
	fi, err := os.Stat(out)
	if err != nil {
		return err
	}
	if asJSON {
		return a.json(map[string]any{"file": out, "bytes": fi.Size(), "seconds": time.Since(began).Seconds(), "spec_sha256": spec.Digest()})
	}
	plain.Fprintf(a.stdout, "%s: %s posts, %.2f GB in %.1f s\non the server's host: mattermost import bulk %s --apply\n", out, rig.Thousands(spec.Posts), float64(fi.Size())/1e9, time.Since(began).Seconds(), out)
	return nil
}

func (a *app) dataSnapshot(ctx context.Context, fs *flag.FlagSet, args []string) error {
	database := fs.String("db", "chat", "name of the database in it")
	dsnEnv := fs.String("dsn-env", "", "`name` of the environment variable with the DSN of a running database to back up, instead of a state directory")
	timeout := fs.Duration("timeout", dataTimeout, "end after this time")
	asJSON := fs.Bool("json", false, "write the result as JSON")
	rest, err := parse(fs, args, 1, 2)
	if err != nil {
		return err
	}
	dsn := ""
	if *dsnEnv != "" {
		dsn = a.secret(*dsnEnv)
	}
	switch {
	case *dsnEnv != "" && dsn == "":
		return plan.Usagef("-dsn-env=%s: the environment variable is not set", *dsnEnv)
	case (*dsnEnv == "") != (len(rest) == 2):
		return plan.Usagef("want data snapshot STATE DIR, or data snapshot -dsn-env NAME DIR")
	}
	ctx, cancel := timed(ctx, *timeout)
	defer cancel()
	m := &rig.Maker{Tool: own.Version(), Progress: a.newProgress()}
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
	x := madeDump{Dir: dir, Digest: d.Digest(), Engine: d.Manifest.Engine, Server: d.Manifest.Server, Bytes: d.Manifest.DataBytes, Seconds: time.Since(began).Seconds(), Tables: d.Manifest.Tables}
	if *asJSON {
		return a.json(x)
	}
	plain.Fprintf(a.stdout, "%s: %s, %.2f GB, sha256 %s, in %.1f s\n", x.Dir, rig.DatasetText(d), float64(x.Bytes)/1e9, x.Digest[:12], x.Seconds)
	return nil
}

// A restored is the output of restore with -json. Times are in seconds.
type restored struct {
	Dir     string  `json:"dir"`
	Bytes   int64   `json:"bytes"`
	Restore float64 `json:"restore"`         // until the server answered
	Reset   float64 `json:"reset,omitempty"` // to the same state once more, as between two runs
	Copy    float64 `json:"copy,omitempty"`  // cp -a of the same data
	Sync    float64 `json:"sync,omitempty"`  // of that copy, until it was on disk
}

func (a *app) dataRestore(ctx context.Context, fs *flag.FlagSet, args []string) error {
	copied := fs.Bool("plain", false, "also time a plain copy (cp -a) of the same data, and a reset as between two runs")
	timeout := fs.Duration("timeout", dataTimeout, "end after this time")
	asJSON := fs.Bool("json", false, "write the times as JSON")
	script := scriptFlags(fs)
	way := fs.String("reset", "", "how -plain resets: copy, reflink or image; the default is the best that this host has for the size")
	rest, err := parse(fs, args, 2, 2)
	if err != nil {
		return err
	}
	if rig.IsSQLFile(rest[0]) {
		return a.restoreScript(ctx, rest[0], rest[1], script, *timeout, *asJSON)
	}
	d, err := dump.Open(rest[0])
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
	prog := a.newProgress()
	defer prog.End()
	prog.What("restoring "+rest[0], 0)
	x := restored{Dir: dir, Bytes: d.Manifest.DataBytes}
	if *copied {
		prog.Doing("plain copy", 0)
		if x.Copy, x.Sync, err = plainCopy(ctx, d.Data(), filepath.Clean(dir)+".plain"); err != nil {
			return err
		}
	}
	prog.Doing("copying and starting the server", 0)
	began := time.Now()
	s, err := rig.StartData(ctx, d.Manifest.Engine, dir, d.Data(), *way, nil)
	if err != nil {
		return fmt.Errorf("restoring %s: %w", rest[0], errors.Join(err, rig.RemoveState(dir)))
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
		return a.json(x)
	}
	plain.Fprintf(a.stdout, "%s: %.2f GB restored in %.1f s, until the server answered", dir, float64(x.Bytes)/1e9, x.Restore)
	if *copied {
		plain.Fprintf(a.stdout, "; a reset as between two runs takes %.1f s; cp -a of the same data takes %.1f s, and %.1f s until it is on disk: restore is %.2f times that",
			x.Reset, x.Copy, x.Copy+x.Sync, x.Restore/(x.Copy+x.Sync))
	}
	_, err = plain.Fprintf(a.stdout, "\n")
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

func (a *app) dataVerify(ctx context.Context, fs *flag.FlagSet, args []string) error {
	files := fs.Bool("files", false, "only compare the files, without starting a server")
	dsnEnv := fs.String("dsn-env", "", "`name` of the environment variable with the DSN of a database to compare with the dump's manifest, instead of the dump")
	timeout := fs.Duration("timeout", dataTimeout, "end after this time")
	asJSON := fs.Bool("json", false, "write the findings as JSON")
	rest, err := parse(fs, args, 1, 1)
	if err != nil {
		return err
	}
	ctx, cancel := timed(ctx, *timeout)
	defer cancel()
	if strings.HasSuffix(rest[0], ".jsonl") {
		return a.verifyImport(ctx, rest[0], *asJSON)
	}
	d, err := dump.Open(rest[0])
	if err != nil {
		return plan.UsageError{Err: err}
	}
	prog := a.newProgress()
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
		dsn := a.env(*dsnEnv)
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
			if err := rig.Temporarily(ctx, d.Manifest.Engine, rest[0], d.Data(), nil, func(s rig.DataServer) error {
				return inDatabase(s.DSN(d.Manifest.Database))
			}); err != nil {
				return err
			}
		}
	}
	prog.End()
	if *asJSON {
		if err := a.json(map[string]any{"dump": rest[0], "digest": d.Digest(), "problems": append([]string{}, problems...)}); err != nil {
			return err
		}
	} else {
		for _, p := range problems {
			plain.Fprintf(a.stdout, "%v\n", p)
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("%s is not what its manifest says: %d differences", cmp.Or(*dsnEnv, rest[0]), len(problems))
	}
	if !*asJSON {
		plain.Fprintf(a.stdout, "%s is what its manifest says: %s\n", cmp.Or(*dsnEnv, rest[0]), rig.DatasetText(d))
	}
	return nil
}

// verifyImport holds a file for bulk import to its documentation.
func (a *app) verifyImport(ctx context.Context, path string, asJSON bool) error {
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
		return a.json(n)
	}
	plain.Fprintf(a.stdout, "%s can be imported: %d teams, %d channels, %d users, %d direct channels, %s posts, of which %s replies, %s reactions, %d attachments\n",
		path, n.Teams, n.Channels, n.Users, n.DirectChannels, rig.Thousands(n.Posts), rig.Thousands(n.Replies), rig.Thousands(n.Reactions), n.Attachments)
	return nil
}

// dataInfo prints the manifest of a dump, or the figures of a spec.
func (a *app) dataInfo(ctx context.Context, fs *flag.FlagSet, args []string) error {
	asJSON := fs.Bool("json", false, "write it as JSON")
	change := specFlags(fs)
	rest, err := parse(fs, args, 1, 1)
	if err != nil {
		return err
	}
	if rig.IsDir(rest[0]) {
		d, err := dump.Open(rest[0])
		if err != nil {
			return plan.UsageError{Err: err}
		}
		if *asJSON {
			m := d.Manifest
			m.Files = nil
			return a.json(map[string]any{"digest": d.Digest(), "manifest": m})
		}
		m := d.Manifest
		plain.Fprintf(a.stdout, "%s\n%s, database %s, %.2f GB in %d files, made %s by plimsoll %s\n", rig.DatasetText(d), m.Server, m.Database, float64(m.DataBytes)/1e9,
			len(m.Files), m.Made.Format(time.RFC3339), m.Tool)
		for _, t := range slices.SortedFunc(slices.Values(m.Tables), func(a, b dump.Table) int { return cmp.Compare(b.Rows, a.Rows) }) {
			if t.Rows > 0 {
				plain.Fprintf(a.stdout, "  %-20s %12s rows\n", t.Name, rig.Thousands(int(t.Rows)))
			}
		}
		return nil
	}
	spec, err := rig.ReadSpec(rest[0])
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
		return a.json(map[string]any{"spec": spec, "spec_sha256": spec.Digest(), "counts": t.Counts, "channels": p.Channels(), "memberships": members, "bytes": rig.BytesOf(spec), "bytes_by_engine": map[string]int64{plan.PostgreSQL: rig.BytesOn(plan.PostgreSQL, spec), plan.MySQL: rig.BytesOn(plan.MySQL, spec)}})
	}
	plain.Fprintf(a.stdout, "%s\nsha256 %s\n%s channels with %s memberships; %s posts, of which %s replies in %s threads; %s reactions, %s files\n%s\n", plain.Block(spec.String()), spec.Digest()[:12],
		rig.Thousands(p.Channels()), rig.Thousands(members), rig.Thousands(t.Counts.Posts), rig.Thousands(t.Counts.Replies), rig.Thousands(t.Counts.Threads), rig.Thousands(t.Counts.Reactions), rig.Thousands(t.Counts.Files), rig.BytesText(spec))
	return nil
}
