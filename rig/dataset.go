package rig

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"plimsoll/internal/files"
	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/reference/dataset"
	"plimsoll/reference/dataset/dump"
	data "plimsoll/reference/dataset/refchat"
	"plimsoll/reference/refchat"
	"plimsoll/target"
	"plimsoll/target/lab"
	"plimsoll/target/lab/database"
	"plimsoll/target/lab/mysql"
	"plimsoll/target/lab/postgresql"
	"plimsoll/target/process"
	"plimsoll/watch/probe"
)

// DataServer is a database server whose data can be taken out.
type DataServer interface {
	target.Database
	Export(ctx context.Context, dst string) error
	DropDatabase(ctx context.Context, name string) error
	// Load runs a script of SQL in a database, in which the owners are roles, and collects statistics.
	Load(ctx context.Context, name string, script io.Reader, owners []string) error
}

// StartData starts a server with its state in dir, beginning with the data of a dump unless from is empty, which is
// copied at a reset in a way of package lab; empty is the best of this host.
func StartData(ctx context.Context, engine, dir, from string, reset string, settings map[string]string) (DataServer, error) {
	way := lab.Copying(reset)
	if !slices.Contains([]lab.Copying{lab.Auto, lab.Plain, lab.Reflink, lab.Image}, way) {
		return nil, plan.Usagef("a reset by %q: want %s, %s or %s", reset, lab.Plain, lab.Reflink, lab.Image)
	}
	if engine != plan.PostgreSQL && engine != plan.MySQL {
		return nil, plan.Usagef("engine %q: want %s or %s", engine, plan.PostgreSQL, plan.MySQL)
	}
	conf := database.Config{Dir: dir, Data: from, Reset: way, Settings: settings}
	return startServer(ctx, engine, conf)
}

// startServer starts a server of an engine that a plan may name.
func startServer(ctx context.Context, engine string, conf database.Config) (DataServer, error) {
	start := postgresql.Start
	if engine == plan.MySQL {
		start = mysql.Start
	}
	s, err := start(ctx, conf)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Temporarily runs do with a server that is gone afterwards, with its state in a directory beside near, on the same
// disk.
func Temporarily(ctx context.Context, engine, near, from string, settings map[string]string, do func(DataServer) error) (err error) {
	near = filepath.Clean(near) // the directory of "a/b/" would be a/b itself
	if err := lab.MkdirState(filepath.Dir(near)); err != nil {
		return err
	}
	sweepTemporary(filepath.Dir(near))
	dir, err := os.MkdirTemp(filepath.Dir(near), fmt.Sprintf(".dataset-%d-", os.Getpid()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, RemoveState(dir)) }()
	if err := os.Chmod(dir, 0o711); err != nil { // the server may run as another user, who passes through
		return err
	}
	s, err := StartData(ctx, engine, dir, from, string(lab.Plain), settings) // it is not reset
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		err = errors.Join(err, s.Stop(ctx))
	}()
	return do(s)
}

// sweepTemporary removes leftovers of killed programs; their servers ended with them.
func sweepTemporary(dir string) {
	old, _ := filepath.Glob(filepath.Join(dir, ".dataset-*-*")) // the pattern is a good one
	for _, path := range old {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), ".dataset-"), "-")
		if n, err := strconv.Atoi(pid); err == nil && errors.Is(syscall.Kill(n, 0), syscall.ESRCH) {
			_ = RemoveState(path)
		}
	}
}

// RemoveState removes a state directory, of a server or of several in directories below it, and the directories that
// stand for these where a server's user cannot reach them.
func RemoveState(dir string) error {
	dirs := []string{dir}
	entries, _ := os.ReadDir(dir) // of an unreadable one the last call reports it
	for _, e := range entries {
		dirs = append(dirs, filepath.Join(dir, e.Name()))
	}
	var errs []error
	for _, at := range dirs {
		if other, ok := lab.StandIn(at); ok {
			errs = append(errs, os.RemoveAll(other))
		}
	}
	return errors.Join(append(errs, os.RemoveAll(dir))...)
}

// loadingSettings are those of a server that only loads: its writes are not safe before it has been shut down cleanly
// and copied to disk, and then they are. Buffers take an eighth of the memory, a quarter on MySQL, which fills its
// tables in random order.
func loadingSettings(engine string, memory uint64) map[string]string {
	mib := func(share uint64, most int) string {
		return strconv.Itoa(max(128, min(int(memory/share>>20), most)))
	}
	if engine == plan.MySQL {
		return map[string]string{
			"innodb_buffer_pool_size": mib(4, 16<<10) + "M", "innodb_flush_log_at_trx_commit": "0", "innodb_doublewrite": "0",
			"innodb_flush_method": "O_DIRECT_NO_FSYNC",
		}
	}
	return map[string]string{
		"fsync": "off", "full_page_writes": "off", "wal_level": "minimal", "max_wal_senders": "0", "max_wal_size": "4GB", "min_wal_size": "80MB",
		"wal_recycle": "off", "autovacuum": "off", "checkpoint_timeout": "1h", "shared_buffers": mib(8, 2<<10) + "MB",
	}
}

// ReadSpec reads a named preset, or a file.
func ReadSpec(name string) (dataset.Spec, error) {
	if s, ok := dataset.Preset(name); ok {
		return s, nil
	}
	src, err := files.Read(name, MaxSmall)
	if errors.Is(err, os.ErrNotExist) {
		return dataset.Spec{}, plan.Usagef("dataset %s: neither a preset (%s) nor a file", name, strings.Join(dataset.Presets(), ", "))
	}
	if err != nil {
		return dataset.Spec{}, plan.UsageError{Err: err}
	}
	s, err := dataset.ParseSpec(src)
	if err != nil {
		return s, plan.UsageError{Err: plain.Below(err, "%s is no good spec of a dataset", name)}
	}
	return s, nil
}

// A Maker makes dumps.
type Maker struct {
	Progress *Reporter
	Tool     string // the version of this program
	Password string // of all users
	Hash     string
}

// Generate fills a new server with a population and keeps its data in dir.
func (m *Maker) Generate(ctx context.Context, spec dataset.Spec, engine, dir string) (*dump.Dump, data.Result, error) {
	var res data.Result
	p, err := dataset.New(spec)
	if err != nil {
		return nil, res, plan.UsageError{Err: err}
	}
	if err := dump.CheckSpace(dir, 5*BytesOn(engine, spec)/2); err != nil { // the server's own, its log, and the copy
		return nil, res, err
	}
	into, files, err := dump.Create(dir)
	if err != nil {
		return nil, res, err
	}
	defer func() { _ = dump.Abandon(dir) }()
	m.Progress.What(spec.Name+" on "+engine, 0)
	man := m.filling(engine, process.DefaultDatabase, "generated")
	man.Schema, man.Spec, man.SpecSum = refchat.SchemaVersion, &spec, spec.Digest()
	err = Temporarily(ctx, engine, dir, "", maps.Clone(man.Loading), func(s DataServer) error {
		if err := s.CreateDatabase(ctx, man.Database); err != nil {
			return err
		}
		if res, err = m.Load(ctx, s.DSN(man.Database), p); err != nil {
			return err
		}
		for k, v := range res.Settings {
			man.Loading["session: "+k] = v
		}
		for k, d := range map[string]time.Duration{"rows": res.Load, "indexes": res.Build, "statistics": res.Settle} {
			man.Seconds[k] = seconds(d)
		}
		return m.take(ctx, s, &man, into)
	})
	if err != nil {
		return nil, res, err
	}
	if err := data.WriteFiles(files); err != nil {
		return nil, res, err
	}
	d, err := m.seal(ctx, dir, man)
	return d, res, err
}

// seal ends a dump.
func (m *Maker) seal(ctx context.Context, dir string, man dump.Manifest) (*dump.Dump, error) {
	defer m.Progress.End()
	m.Progress.Doing("summing the files", 0)
	return dump.Seal(ctx, dir, man)
}

// filling is the manifest of a dump whose data a new server loads.
func (m *Maker) filling(engine, database, origin string) dump.Manifest {
	m.Progress.Doing("starting a server", 0)
	return dump.Manifest{
		Made: time.Now().UTC(), Tool: m.Tool, Engine: engine, Database: database, Origin: origin,
		Seconds: map[string]string{},
		Loading: loadingSettings(engine, probe.Fingerprint().MemoryBytes),
	}
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) }

// Load fills an empty database.
func (m *Maker) Load(ctx context.Context, dsn string, p *dataset.Population) (data.Result, error) {
	began, phase := time.Now(), ""
	return data.Load(ctx, dsn, p, data.Options{Password: m.Password, Hash: m.Hash, Workers: runtime.GOMAXPROCS(0), Progress: func(pr data.Progress) {
		if pr.Phase != phase {
			began, phase = time.Now(), pr.Phase
		}
		text, left := pr.Phase, time.Duration(0)
		if pr.All > 1 {
			text = fmt.Sprintf("%s %3.0f %%", pr.Phase, 100*float64(pr.Done)/float64(pr.All))
			if pr.Done > 0 && pr.Phase == "rows" { // indexes differ too much for a forecast
				left = time.Duration(float64(time.Since(began)) * float64(pr.All-pr.Done) / float64(pr.Done))
			}
		}
		m.Progress.Step(pr.Phase, text, left)
	}})
}

// take describes a server's database in a manifest and copies the server's data.
func (m *Maker) take(ctx context.Context, s DataServer, man *dump.Manifest, into string) error {
	m.Progress.Doing("counting the rows", 0)
	var err error
	if man.Tables, err = dump.Tables(ctx, s.DSN(man.Database)); err != nil {
		return err
	}
	desc, err := s.Describe(ctx)
	if err != nil {
		return err
	}
	man.Server = desc.Name + " " + desc.Version
	m.Progress.Doing("copying the data", 0)
	return s.Export(ctx, into)
}

// Snapshot keeps the database of a stopped server's state directory as a dump.
func (m *Maker) Snapshot(ctx context.Context, state, database, dir string) (_ *dump.Dump, err error) {
	// Of a halted deployment no journal lists a server, and its next reset would write while this reads.
	if deployed := filepath.Dir(filepath.Clean(state)); process.Claimed(deployed) {
		switch lock, err := process.Claim(ctx, deployed); {
		case errors.Is(err, lab.ErrInUse):
			return nil, err
		case err == nil: // else it can only be read, by all
			defer func() { _ = lock.Close() }()
		}
	}
	engine, space, err := stateOf(ctx, state)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, space.Close(context.WithoutCancel(ctx))) }()
	man := dump.Manifest{Engine: engine, Database: database, Origin: "snapshot of " + filepath.Base(filepath.Dir(state)) + "/" + filepath.Base(state)}
	m.Progress.What("snapshot of "+state, 0)
	// The reference server's attachments lie beside the database.
	return m.keep(ctx, man, filepath.Join(space.Dir(), "data"), nil, filepath.Join(filepath.Dir(filepath.Clean(state)), "files"), dir)
}

// keep makes a dump of a server's data, which a server with settings starts on a copy of, with the attachments in a
// directory that need not exist.
func (m *Maker) keep(ctx context.Context, man dump.Manifest, from string, settings map[string]string, beside, dir string) (*dump.Dump, error) {
	into, files, err := dump.Create(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dump.Abandon(dir) }()
	man.Made, man.Tool = time.Now().UTC(), m.Tool
	m.Progress.Doing("starting a server on a copy", 0)
	err = Temporarily(ctx, man.Engine, dir, from, settings, func(s DataServer) error {
		if man.Engine == plan.PostgreSQL { // the template of resets would double the dump
			if err := s.DropDatabase(ctx, man.Database+"_snapshot"); err != nil {
				return err
			}
		}
		if err := m.take(ctx, s, &man, into); err != nil {
			return err
		}
		if problems, err := data.Check(ctx, s.DSN(man.Database)); err == nil && len(problems) > 0 {
			return fmt.Errorf("the database contradicts itself: %s", strings.Join(problems, "; "))
		} else if err == nil {
			man.Schema = refchat.SchemaVersion // it is a database of the reference server
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if IsDir(beside) {
		if err := lab.ReplaceTree(ctx, files, beside, nil); err != nil {
			return nil, err
		}
	}
	return m.seal(ctx, dir, man)
}

// stateOf finds a supervised server's data in its state directory and makes sure that it is not in use. The caller
// must close the space that holds it.
func stateOf(ctx context.Context, state string) (engine string, _ *lab.Space, err error) {
	for _, engine = range []string{plan.PostgreSQL, plan.MySQL} {
		if _, err := os.Stat(filepath.Join(state, engine+".journal")); err == nil {
			if _, err := lab.Sweep(ctx, filepath.Join(state, engine+".journal"), 5*time.Second); err != nil {
				return "", nil, err
			}
		}
	}
	real := state
	if other, ok := lab.Elsewhere(state); ok {
		real = other
	}
	if IsDir(real) {
		space, err := lab.NewSpace(ctx, real, 0, lab.Plain)
		if err != nil {
			return "", nil, err
		}
		for engine, file := range map[string]string{plan.PostgreSQL: "PG_VERSION", plan.MySQL: "ibdata1"} {
			if _, err := os.Stat(filepath.Join(space.Dir(), "data", file)); err == nil {
				return engine, space, nil
			}
		}
		if err := space.Close(ctx); err != nil {
			return "", nil, err
		}
	}
	return "", nil, plan.Usagef("%s is no state directory of a database server; want one such as .plimsoll/state/base-postgresql/postgresql", state)
}

// IsDir reports whether there is a directory at path.
func IsDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// dataOf returns the dump that a target's dataset names, or the description of the data that are made for it; neither
// for a target without one.
func (pr *Program) dataOf(t plan.Target, engine string) (*dump.Dump, dataset.Spec, error) {
	var spec dataset.Spec
	name, own := t.Dataset, pr.Drivers[t.Driver]
	switch {
	case !t.Filled():
		return nil, spec, nil
	case engine == "":
		return nil, spec, plan.Usagef("target.dataset: %s needs a database that this program starts; add database: {engine: postgresql}", name)
	case IsDir(name):
		d, err := dump.For(name, engine)
		if err != nil {
			return nil, spec, plan.Usagef("target.dataset: %w", err)
		}
		if own.Data != "" && d.Manifest.Schema != own.Data {
			return nil, spec, plan.Usagef("target.dataset: %s has schema %q, the reference server wants %q; generate it again", d.Dir, d.Manifest.Schema, own.Data)
		}
		return d, spec, nil
	case own.Data == "":
		return nil, spec, plan.Usagef("target.dataset: %s is not a directory; the driver %s begins with a dump of its own database, which plimsoll data snapshot makes", name, t.Driver)
	}
	spec, err := ReadSpec(name)
	if err != nil {
		err = fmt.Errorf("target.dataset: %w", err)
	}
	return nil, spec, err
}

// datasetFor returns the dump that a target begins with: the one at a path, or one made from a preset or a spec,
// which is kept in the store for the next time. The password is that of the users of generated data.
func (s *Session) datasetFor(ctx context.Context, t plan.Target, engine string) (d *dump.Dump, err error) {
	own := s.Drivers[t.Driver]
	d, spec, err := s.dataOf(t, engine)
	if err != nil || d != nil {
		return d, err
	}
	root, err := filepath.Abs(filepath.Join(s.Store.Root(), "datasets"))
	if err != nil {
		return nil, err
	}
	password := s.secret("PLIMSOLL_USER_PASSWORD")
	dir := filepath.Join(root, spec.Name+"-"+spec.Digest()[:12]+"-"+engine+"-"+own.Data+ofPassword(password))
	if IsDir(dir) {
		return dump.For(dir, engine)
	}
	if all := slices.Concat(s.generator, s.targets); len(s.generator) > 0 { // nothing is measured yet
		if err := lab.PinSelf(all); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, lab.PinSelf(s.generator)) }()
	}
	m := &Maker{Progress: s.Progress, Tool: s.Version, Password: password}
	if d, _, err = m.Generate(ctx, spec, engine, dir); err != nil && IsDir(dir) {
		return dump.For(dir, engine) // another program was faster
	}
	return d, err
}

// ofPassword tells kept dumps apart whose users have other passwords, which would log nobody in. Two bytes of a digest
// say next to nothing of the password.
func ofPassword(password string) string {
	if password == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(password))
	return fmt.Sprintf("-%x", sum[:2])
}

// placeFiles copies a dump's attachments to where the reference server looks for them.
func placeFiles(ctx context.Context, d *dump.Dump, dir string) error {
	if d.Files() == "" {
		return nil
	}
	if err := lab.MkdirState(dir); err != nil {
		return err
	}
	return lab.ReplaceTree(ctx, filepath.Join(dir, "files"), d.Files(), nil)
}

// DatasetText names a dump in descriptions and reports.
func DatasetText(d *dump.Dump) string {
	m := d.Manifest
	what := m.Origin
	if m.Spec != nil {
		what = fmt.Sprintf("%s: %s users, %s posts, seed %d", m.Spec.Name, Thousands(m.Spec.Users), Thousands(m.Spec.Posts), m.Spec.Seed)
	} else if i := slices.IndexFunc(m.Tables, func(t dump.Table) bool { return t.Name == "posts" }); i >= 0 {
		what += ": " + Thousands(int(m.Tables[i].Rows)) + " posts"
	}
	return what + ", sha256 " + d.Digest()[:12]
}

// Thousands writes 12,000,000.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
