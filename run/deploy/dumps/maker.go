package dumps

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"strconv"
	"time"

	"plimsoll/plan"
	"plimsoll/reference/dataset"
	"plimsoll/reference/dataset/dump"
	data "plimsoll/reference/dataset/refchat"
	"plimsoll/reference/refchat"
	"plimsoll/run/deploy/stores"
	"plimsoll/target/process"
	"plimsoll/watch/probe"
)

// A Progress shows people the progress of a work of several steps.
type Progress interface {
	// What names the work, and the time that follows it; 0 for none.
	What(work string, after time.Duration)
	// Doing begins a step, with the time that is left; 0 for an unknown one.
	Doing(step string, left time.Duration)
	// Step is Doing with a text that changes within one step.
	Step(step, text string, left time.Duration)
	// End ends the work.
	End()
}

// A Maker makes dumps, one at a time. A method that fails leaves no dump behind.
type Maker struct {
	Progress Progress
	Tool     string // version of this program, for the manifest
	Password string // of all generated users; empty: the default of package refchat
	Hash     string // the hash of it to store; empty: it is computed
}

// Generate fills a new server of an engine with a population and keeps its data in dir.
func (m *Maker) Generate(ctx context.Context, spec dataset.Spec, engine,
	dir string) (*dump.Dump, data.Result, error) {
	var res data.Result
	p, err := dataset.New(spec)
	if err != nil {
		return nil, res, plan.UsageError{Err: err}
	}
	need := 5 * BytesOn(engine, spec) / 2 // the server's own, its log, and the copy
	if err := dump.CheckSpace(dir, need); err != nil {
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
	fill := func(s *stores.Server) error {
		if err := s.CreateDatabase(ctx, man.Database); err != nil {
			return err
		}
		if res, err = m.Load(ctx, s.DSN(man.Database), p); err != nil {
			return err
		}
		for k, v := range res.Settings {
			man.Loading["session: "+k] = v
		}
		man.Seconds["rows"] = seconds(res.Load)
		man.Seconds["indexes"] = seconds(res.Build)
		man.Seconds["statistics"] = seconds(res.Settle)
		return m.take(ctx, s, &man, into)
	}
	if err := stores.Temporarily(ctx, engine, dir, "", maps.Clone(man.Loading), fill); err != nil {
		return nil, res, err
	}
	if err := data.WriteFiles(files); err != nil {
		return nil, res, err
	}
	d, err := m.seal(ctx, dir, man)
	return d, res, err
}

// Load fills an empty database with a population.
func (m *Maker) Load(ctx context.Context, dsn string, p *dataset.Population) (data.Result, error) {
	began, phase := time.Now(), ""
	show := func(pr data.Progress) {
		if pr.Phase != phase {
			began, phase = time.Now(), pr.Phase
		}
		text, left := pr.Phase, time.Duration(0)
		if pr.All > 1 {
			text = fmt.Sprintf("%s %3.0f %%", pr.Phase, 100*float64(pr.Done)/float64(pr.All))
			if pr.Phase == "rows" { // indexes differ too much for a forecast
				left = timeLeft(pr.Done, pr.All, time.Since(began))
			}
		}
		m.Progress.Step(pr.Phase, text, left)
	}
	return data.Load(ctx, dsn, p, data.Options{
		Password: m.Password,
		Hash:     m.Hash,
		Workers:  runtime.GOMAXPROCS(0),
		Progress: show,
	})
}

// filling begins the manifest of a dump whose data a new server loads.
func (m *Maker) filling(engine, database, origin string) dump.Manifest {
	m.Progress.Doing("starting a server", 0)
	return dump.Manifest{
		Made:     time.Now().UTC(),
		Tool:     m.Tool,
		Engine:   engine,
		Database: database,
		Origin:   origin,
		Seconds:  map[string]string{},
		Loading:  loadingSettings(engine, probe.Fingerprint().MemoryBytes),
	}
}

// loadingSettings returns the settings of a server that only loads, for a host with this number of
// bytes of memory. Its writes are safe once it has been shut down cleanly and copied to disk.
// Buffers take an eighth of the memory, a quarter on MySQL, which fills its tables in random order.
func loadingSettings(engine string, memory uint64) map[string]string {
	mib := func(share uint64, most int) string {
		return strconv.Itoa(max(128, min(int(memory/share>>20), most)))
	}
	if engine == plan.MySQL {
		return map[string]string{
			"innodb_buffer_pool_size":        mib(4, 16<<10) + "M",
			"innodb_flush_log_at_trx_commit": "0",
			"innodb_doublewrite":             "0",
			"innodb_flush_method":            "O_DIRECT_NO_FSYNC",
		}
	}
	return map[string]string{
		"fsync":              "off",
		"full_page_writes":   "off",
		"wal_level":          "minimal",
		"max_wal_senders":    "0",
		"max_wal_size":       "4GB",
		"min_wal_size":       "80MB",
		"wal_recycle":        "off",
		"autovacuum":         "off",
		"checkpoint_timeout": "1h",
		"shared_buffers":     mib(8, 2<<10) + "MB",
	}
}

// take describes the database of a server in a manifest and copies the server's data.
func (m *Maker) take(ctx context.Context, s *stores.Server, man *dump.Manifest,
	into string) error {
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

// seal ends a dump.
func (m *Maker) seal(ctx context.Context, dir string, man dump.Manifest) (*dump.Dump, error) {
	defer m.Progress.End()
	m.Progress.Doing("summing the files", 0)
	return dump.Seal(ctx, dir, man)
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) }

// timeLeft extrapolates the time that the rest of a work takes; 0 if it is not known or nothing.
func timeLeft(done, all int64, took time.Duration) time.Duration {
	if done <= 0 || done >= all {
		return 0
	}
	return time.Duration(float64(took) * float64(all-done) / float64(done))
}
