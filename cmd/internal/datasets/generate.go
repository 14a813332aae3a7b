package datasets

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"plimsoll/cmd/internal/app"
	chat "plimsoll/dialect/mattermost"
	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/reference/dataset"
	"plimsoll/reference/dataset/dump"
	"plimsoll/reference/dataset/mattermost"
	data "plimsoll/reference/dataset/refchat"
	"plimsoll/reference/refchat"
	"plimsoll/run/deploy/dumps"
)

// specFlags add the flags that change a spec, and return the function that applies them.
func specFlags(fs *flag.FlagSet) func(s *dataset.Spec) error {
	name := fs.String("name", "", "name of the dataset (default the spec's)")
	team := fs.String(
		"team",
		"",
		"name of the first team and beginning of all names; simulated users look for those of their setting team (default plimsoll)",
	)
	seed := fs.Uint64("seed", 0, "seed of every choice (default the spec's)")
	n := map[string]*int{}
	for key, text := range map[string]string{
		"users":    "users",
		"teams":    "teams",
		"channels": "channels of all types",
		"posts":    "posts, replies included",
		"days":     "days over which the posts are spread",
	} {
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

// Made is the output of generate and snapshot with -json.
type Made struct {
	Dir     string       `json:"dir"`
	Digest  string       `json:"digest"`
	Engine  string       `json:"engine"`
	Server  string       `json:"server"`
	Bytes   int64        `json:"bytes"`
	Result  *data.Result `json:"result,omitempty"`
	Seconds float64      `json:"seconds"`
	Tables  []dump.Table `json:"tables"`
}

// madeOf describes a dump that was made since began.
func madeOf(dir string, d *dump.Dump, began time.Time) Made {
	m := d.Manifest
	return Made{
		Dir:     dir,
		Digest:  d.Digest(),
		Engine:  m.Engine,
		Server:  m.Server,
		Bytes:   m.DataBytes,
		Seconds: time.Since(began).Seconds(),
		Tables:  m.Tables,
	}
}

// formatReference is the format of the reference server's own database. It has the name of the
// driver.
const formatReference = chat.Refchat

// dataGenerate makes a dump, fills a database or writes a file for import.
func dataGenerate(ctx context.Context, a *app.App) error {
	fs := a.Flags
	out := fs.String("o", "", "directory of the dump to make, or file for -format=mattermost")
	engines := fs.String(
		"engine",
		plan.PostgreSQL,
		"database engine, or several separated by commas, each then in a directory of its name",
	)
	format := fs.String(
		"format",
		formatReference,
		"refchat: the reference server's database; mattermost: a file for Mattermost's bulk import",
	)
	attachments := fs.Bool(
		"attachments",
		false,
		"-format=mattermost: also write attachments, 1 MB in a directory beside the file",
	)
	dsnEnv := fs.String(
		"dsn-env",
		"",
		"`name` of the environment variable with the DSN of an empty database to fill, instead of making a dump",
	)
	hash := fs.String(
		"hash",
		refchat.DefaultHash,
		"how the users' password is hashed: bcrypt:COST or pbkdf2:ITERATIONS; that of the server under test",
	)
	timeout := fs.Duration("timeout", dataTimeout, "end after this time")
	asJSON := fs.Bool("json", false, "write the result as JSON")
	change := specFlags(fs)
	rest, err := a.Parse(0, 1)
	if err != nil {
		return err
	}
	spec, err := dumps.ReadSpec(append(rest, "tiny")[0])
	if err != nil {
		return err
	}
	if err := change(&spec); err != nil {
		return err
	}
	ctx, cancel := timed(ctx, *timeout)
	defer cancel()
	m := maker(a)
	m.Password, m.Hash = a.Secret("PLIMSOLL_USER_PASSWORD"), *hash
	defer m.Progress.End()
	switch {
	case *format == "mattermost":
		return writeImport(ctx, a, m, spec, *out, *attachments, *asJSON)
	case *format != formatReference:
		return plan.Usagef("-format=%s: want refchat or mattermost", *format)
	case (*out == "") == (*dsnEnv == ""):
		return plan.Usagef(
			"want either -o DIR, for a dump, or -dsn-env NAME, for a database that is there",
		)
	case *dsnEnv != "":
		return fill(ctx, a, m, spec, *dsnEnv, *asJSON)
	}
	return generateDumps(ctx, a, m, spec, strings.Split(*engines, ","), *out, *asJSON)
}

// generateDumps makes a dump for each engine: in dir, or of several each in a directory of its
// name.
func generateDumps(
	ctx context.Context,
	a *app.App,
	m *dumps.Maker,
	spec dataset.Spec,
	engines []string,
	out string,
	asJSON bool,
) error {
	var made []Made
	for _, engine := range engines {
		dir := out
		if len(engines) > 1 {
			dir = filepath.Join(dir, engine)
		}
		if engine != plan.PostgreSQL && engine != plan.MySQL {
			return plan.Usagef(
				"-engine=%s: want %s, %s, or both",
				engine,
				plan.PostgreSQL,
				plan.MySQL,
			)
		}
		began := time.Now()
		d, res, err := m.Generate(ctx, spec, engine, dir)
		if err != nil {
			return fmt.Errorf("generating %s on %s: %w", spec.Name, engine, err)
		}
		x := madeOf(dir, d, began)
		x.Result = &res
		made = append(made, x)
		if !asJSON {
			sayLoaded(a, spec, x.Server, res)
			a.Printf("%s: %.2f GB, sha256 %s, %.1f s in all\n",
				dir, float64(x.Bytes)/1e9, x.Digest[:12], x.Seconds)
		}
	}
	if asJSON {
		return a.JSON(made)
	}
	return nil
}

// sayLoaded prints the times of a load.
func sayLoaded(a *app.App, spec dataset.Spec, server string, res data.Result) {
	var rows int64
	for _, n := range res.Rows {
		rows += n
	}
	a.Printf(
		"%s on %s: %s posts, %s rows in all loaded in %.1f s (%.0f MB/s), %d indexes in %.1f s, statistics in %.1f s: %.1f s together\n",
		spec.Name,
		server,
		plain.Thousands(spec.Posts),
		plain.Thousands(int(rows)),
		res.Load.Seconds(),
		float64(res.Bytes)/1e6/max(res.Load.Seconds(), 1e-3),
		res.Indexes,
		res.Build.Seconds(),
		res.Settle.Seconds(),
		(res.Load + res.Build + res.Settle).Seconds(),
	)
}

// fill loads into a database that is there.
func fill(
	ctx context.Context,
	a *app.App,
	m *dumps.Maker,
	spec dataset.Spec,
	dsnEnv string,
	asJSON bool,
) error {
	dsn := a.Env(dsnEnv)
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
		return a.JSON(res)
	}
	sayLoaded(a, spec, "the database of "+dsnEnv, res)
	return nil
}

// writeImport writes a file for Mattermost's bulk import; it appears whole.
func writeImport(
	ctx context.Context,
	a *app.App,
	m *dumps.Maker,
	spec dataset.Spec,
	out string,
	attachments, asJSON bool,
) error {
	if out == "" {
		return plan.Usagef("-format=mattermost needs -o FILE, or -o - for standard output")
	}
	p, err := dataset.New(spec)
	if err != nil {
		return plan.UsageError{Err: err}
	}
	opt := mattermost.Options{
		Password:    m.Password,
		Attachments: attachments,
		Progress: func(n int) {
			m.Progress.Step(
				"posts",
				fmt.Sprintf("posts %3.0f %%", 100*float64(n)/float64(spec.Posts)),
				0,
			)
		},
	}
	m.Progress.What(spec.Name, 0)
	began := time.Now()
	if out == "-" {
		data, _ := a.Raw() // the accounts' password is part of it
		return mattermost.Write(ctx, data, p, opt)
	}
	if err := dump.CheckSpace(out, int64(spec.Posts)*600); err != nil {
		return err
	}
	if err := mattermost.Create(ctx, p, opt, out); err != nil {
		return err
	}
	m.Progress.End()
	fi, err := os.Stat(out)
	if err != nil {
		return err
	}
	took := time.Since(began).Seconds()
	if asJSON {
		return a.JSON(map[string]any{
			"file":        out,
			"bytes":       fi.Size(),
			"seconds":     took,
			"spec_sha256": spec.Digest(),
		})
	}
	a.Printf(
		"%s: %s posts, %.2f GB in %.1f s\n"+
			"on the server's host: mattermost import bulk %s --apply\n",
		out,
		plain.Thousands(spec.Posts),
		float64(fi.Size())/1e9,
		took,
		out,
	)
	return nil
}
