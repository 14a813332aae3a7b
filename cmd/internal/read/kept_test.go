package read

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/cmd/internal/app"
	"plimsoll/contrib/grafana"
	"plimsoll/internal/failure"
	"plimsoll/load/measure"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/watch/series"
)

const keptPlan = `
name: stored
target: {driver: refchat}
database: {engine: [postgresql, mysql]}
workload: {behavior: poster, share: 90%, with: {mattermost: 10%}}
bounded: {users: 5000, ramp: 10m, settle: 5m, measure: 45m}
unbounded:
  max_users: 20000
  slo:
    - "p99(op) < 2s"
    - "mean(op) < 100ms"
    - "rate(5xx) < 0.025% min 8000"
    - "cpu(app) < 85%"
    - "promql: sum(rate(mattermost_api_time_sum[$window])) / sum(rate(mattermost_api_time_count[$window])) < 0.2"
compare: {arms: {base: {version: v1}, new: {version: v2}}, combine: true, blocks: 2}
`

// catalog has the knowledge of the program without further services.
var catalog = sync.OnceValue(new(app.App).Catalog)

// keptShape is how large the runs of keptComparison are.
type keptShape struct {
	seconds           int
	handlers, methods int // of the server's histograms, fifteen buckets each
	ops               int // per second
	blocks            int // default 2
}

// keptComparison writes a comparison of two arms on two databases in two blocks into a store: eight
// runs, each of which carries both tests. They hold the same histograms and series (hard links to
// one run), of the names and numbers that a real run has, and different capacities.
func keptComparison(tb testing.TB, root string, shape keptShape) (st *store.Store, id string) {
	tb.Helper()
	st, err := store.Open(root)
	failure.None(tb, err)
	blocks := cmp.Or(shape.blocks, 2)
	p, err := plan.Parse(
		[]byte(strings.Replace(keptPlan, "blocks: 2", fmt.Sprint("blocks: ", blocks), 1)),
	)
	failure.None(tb, err)
	epoch := time.Date(2026, 5, 4, 9, 30, 0, 0, time.UTC)
	first := keptRun(tb, st, p, epoch, shape)
	c := &record.Comparison{
		Format:     1,
		ID:         "20260504-093000-stored",
		Name:       "stored",
		Tool:       "devel",
		Plan:       p.String(),
		PlanDigest: p.Digest(),
		Started:    epoch,
		Ended:      epoch.Add(12 * time.Hour),
		State:      record.Sealed,
		Arms:       []string{"base", "new"},
		Engines:    []string{"postgresql", "mysql"},
		Blocks:     blocks,
	}
	for block := 1; block <= blocks; block++ {
		order := 0
		for _, engine := range c.Engines {
			for _, arm := range c.Arms {
				order++
				m := first.Manifest
				m.ID = fmt.Sprintf("%s-%d-%s-%s", first.Manifest.ID, block, engine, arm)
				m.Block = block
				m.Order = order
				m.Arm = arm
				m.Engine = engine
				m.Comparison = c.ID
				m.Digest, m.InDigests = "", true // the first run's is of another manifest
				// runs that are told apart by their times, and nearly at those of their series
				if shape.blocks > 0 {
					m.Epoch = epoch.Add(time.Duration(4*block+order) * time.Millisecond)
				}
				users := *m.Capacity
				users.Users += float64(10*order + block)
				m.Capacity = &users
				dir := filepath.Join(root, "runs", m.ID)
				link(tb, first.Dir, dir)
				failure.None(tb, record.WriteJSON(filepath.Join(dir, record.ManifestFile), m))
				digest, err := record.DigestFile(filepath.Join(dir, record.ManifestFile))
				failure.None(tb, err)
				c.Runs = append(c.Runs, record.ComparisonRun{
					Run:    m.ID,
					Digest: digest,
					Block:  block,
					Order:  order,
					Arm:    arm,
					Engine: engine,
					Valid:  true,
				})
			}
		}
	}
	failure.None(tb, st.SaveComparison(c))
	return st, c.ID
}

// link copies a run by hard links, except for its manifest.
func link(tb testing.TB, from, to string) {
	tb.Helper()
	err := filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		if rel == record.ManifestFile {
			return nil
		}
		return os.Link(path, filepath.Join(to, rel))
	})
	failure.None(tb, err)
}

// keptRun writes one run.
func keptRun(
	tb testing.TB,
	st *store.Store,
	p *plan.Plan,
	epoch time.Time,
	shape keptShape,
) *record.Run {
	tb.Helper()
	must := func(err error) {
		tb.Helper()
		failure.None(tb, err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	at := func(part float64) time.Duration {
		return time.Duration(part*float64(shape.seconds)) * time.Second
	}
	phases := []record.Phase{{
		Name:  "ramp",
		To:    at(1. / 9),
		Users: 5000,
	}, {
		Name:  "settle",
		To:    at(1. / 6),
		Users: 5000,
	}, {Name: "measure", To: at(2. / 3), Users: 5000}, {Name: "search", To: at(1), Users: 8000}}
	for i := range phases[1:] {
		phases[i+1].From = phases[i].To
	}
	w, err := st.Create(record.Manifest{
		ID:         store.NewID(epoch, "stored"),
		Name:       "stored",
		Tool:       "devel",
		Epoch:      epoch,
		Plan:       p.String(),
		PlanDigest: p.Digest(),
		Seed:       1,
		Target: json.RawMessage(
			`{"driver":"refchat","database":{"name":"Example DB","version":"15"}}`,
		),
		Host: json.RawMessage(`{"cpus":2,"kernel":"6.1"}`),
	})
	must(err)
	db, err := series.Create(filepath.Join(w.Dir(), record.SeriesDir))
	must(err)
	s := newKeptSeries(tb, p, shape)
	names := []string{
		"post",
		"view",
		"read",
		"thread",
		"search",
		"typing",
		"login",
		"upload",
		"channels",
		"users",
		"reaction",
		"status",
		"delivery",
		"schedule",
	}
	windows := make([]*measure.Window, len(names))
	for i, n := range names {
		windows[i] = measure.NewWindow(n)
	}
	for second := range shape.seconds {
		now := time.Duration(second+1) * time.Second
		load := math.Min(1, float64(now)/float64(phases[0].To))
		over := (now - phases[3].From).Seconds() / (phases[3].To - phases[3].From).Seconds()
		load *= 1 + 0.6*math.Max(0, over)
		for i, win := range windows {
			win.Response.Reset()
			win.Service.Reset()
			win.Lag.Reset()
			win.Classes = [measure.NumClasses]uint64{}
			for range max(1, int(load*float64(shape.ops))/(1<<min(i+1, 8))) {
				d := time.Duration(8e6 * load * math.Exp(0.6*rng.NormFloat64()))
				if names[i] == "schedule" {
					win.Lag.Record(d / 100)
				} else {
					win.Response.Record(d)
					win.Service.Record(d)
				}
				win.Classes[measure.OK]++
			}
		}
		must(w.Windows(second, windows))
		users := int(5000 * load)
		must(w.Event(record.Event{At: now, Kind: "users", Users: users}))
		must(w.Event(record.Event{
			At:    now,
			Kind:  "gates",
			Phase: "search",
			Readings: map[string]float64{
				"lag":         2.5,
				"core":        40 + load,
				"cpu":         31,
				"gc":          0.2,
				"inbox":       4,
				"fds_free":    18000,
				"memory":      12,
				"ports":       3,
				"steal":       0,
				"throttled":   0,
				"others":      1.5,
				"clocks":      0.1,
				"retransmits": 0,
				"pause":       1.25,
			},
		}))
		phase := "search"
		for _, ph := range phases {
			if now > ph.From && now <= ph.To {
				phase = ph.Name
			}
		}
		for i, r := range p.Unbounded.SLO {
			if now%(15*time.Second) == 0 {
				share := load * float64(i+1) / 8
				must(w.Event(record.Event{
					At:       now,
					Kind:     "slo",
					Rule:     r.Source,
					Value:    share * r.Threshold,
					Limit:    r.Threshold,
					Count:    9000,
					Violated: share > 1,
					Phase:    phase,
				}))
			}
			if now == phases[2].To {
				must(w.Event(record.Event{
					At:    now,
					Kind:  "slo",
					Rule:  r.Source,
					Value: r.Threshold / 2,
					Limit: r.Threshold,
					Count: 90000,
					Phase: "measured",
				}))
			}
		}
		must(db.Append(epoch.Add(now), s.second(rng, load, users)))
	}
	must(db.Close())
	must(w.Update(func(m *record.Manifest) {
		m.Phases = phases
		rule := p.Unbounded.SLO[3].Source
		m.Capacity = &record.Capacity{
			Kind:    record.Estimate,
			Users:   7500,
			Lo:      7300,
			Hi:      7700,
			Rule:    rule,
			Stopped: "precision: the interval is narrow enough",
			Margins: []record.RuleMargin{{
				Rule:  rule,
				Value: 0.85,
				Limit: 0.85,
			}, {Rule: p.Unbounded.SLO[0].Source, Value: 0.5, Limit: 2}},
		}
	}))
	must(catalog().KeepGraphs(tb.Context(), w.Dir(), w.Manifest(), p.Workload.Pace))
	_, err = w.Seal(tb.Context(), record.Validity{Valid: true}, "")
	must(err)
	r, err := record.Open(w.Dir())
	must(err)
	return r
}

// keptSeries are the series of a run: a batch whose values move on.
type keptSeries struct {
	batch []series.Sample
	// step is how much a counter grows in a second at full load; a gauge has 0 there, and level.
	step, level []float64
	users       []int
}

func newKeptSeries(tb testing.TB, p *plan.Plan, shape keptShape) *keptSeries {
	tb.Helper()
	s := new(keptSeries)
	add := func(step, level float64, name string, labels ...string) {
		sample := series.Sample{Name: name}
		for i := 0; i < len(labels); i += 2 {
			sample.Labels = append(sample.Labels, series.Label{Name: labels[i], Value: labels[i+1]})
		}
		s.batch = append(s.batch, sample)
		s.step = append(s.step, step)
		s.level = append(s.level, level)
	}
	histogram := func(name, label string, n int, more ...string) {
		for i := range n {
			of := append(
				[]string{label, fmt.Sprint(label, i), "instance", "app-0", "role", "app"},
				more...)
			rate := 400 / float64(i+1)
			for k, le := range []string{"0.0005", "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "+Inf"} {
				add(
					rate*math.Min(1, float64(k)/10),
					0,
					name+"_bucket",
					append([]string{"le", le}, of...)...)
			}
			add(rate, 0, name+"_count", of...)
			add(rate*0.02, 0, name+"_sum", of...)
		}
	}
	histogram(
		"mattermost_api_time",
		"handler",
		shape.handlers,
		"method",
		"GET",
		"status_code",
		"200",
	)
	histogram("mattermost_db_store_time", "method", shape.methods, "success", "true")
	app := []string{"instance", "app-0", "role", "app"}
	add(800, 0, "mattermost_http_requests_total", app...)
	add(1.4, 0, "mattermost_process_cpu_seconds_total", app...)
	add(0, 5000, "mattermost_http_websockets_total", app...)
	add(0, 12000, "go_goroutines", app...)
	add(0, 900e6, "go_memstats_heap_inuse_bytes", app...)
	add(0, 80e6, "go_memstats_stack_inuse_bytes", app...)
	add(0, 40, "go_sql_in_use_connections", app...)
	add(0, 1, "plimsoll_probe_up", "probe", "scrape 127.0.0.1")
	for _, role := range []string{"app", "db"} {
		add(0.7, 0, "plimsoll_process_cpu_seconds_total", "role", role)
		add(0, 1e9, "plimsoll_process_resident_memory_bytes", "role", role)
		add(0, 0.6, "plimsoll_cpu_busy_ratio", "role", role)
	}
	for _, have := range hostSeries(tb) {
		step, level := 0.0, 2.0
		if strings.HasSuffix(have[0], "_total") || strings.HasPrefix(have[0], "node_netstat") ||
			strings.HasPrefix(have[0], "node_vmstat") {
			step = 0.12
		}
		add(step, level, have[0], have[1:]...)
	}
	for _, r := range p.Unbounded.SLO {
		add(0, r.Threshold, "plimsoll_slo_threshold", "rule", r.Source)
		add(0, r.Threshold/2, "plimsoll_slo_value", "rule", r.Source)
		add(0, 0, "plimsoll_slo_violated", "rule", r.Source)
		add(0, 0, "plimsoll_slo_no_data", "rule", r.Source)
	}
	for _, state := range []string{"desired", "active"} {
		s.users = append(s.users, len(s.batch))
		add(0, 0, "plimsoll_users", "state", state)
	}
	for _, stat := range []string{"p50", "p95", "p99", "mean", "max"} {
		add(0, 0.02, "plimsoll_op_seconds", "op", "op", "stat", stat)
	}
	for _, class := range []string{"ok", "5xx"} {
		add(600, 0, "plimsoll_ops_total", "op", "op", "class", class)
	}
	// Other series of panels, so that pages are as full as those of a run on PostgreSQL.
	for _, m := range regexp.MustCompile(`(\w+)\{run=`).FindAllSubmatch(slices.Concat(grafana.System, grafana.Coordinator), -1) {
		if name := string(m[1]); !slices.ContainsFunc(s.batch, func(x series.Sample) bool {
			return x.Name == name
		}) && !strings.HasPrefix(name, "plimsoll_slo_") && !strings.HasPrefix(name, "mysql_") {
			step := 0.0
			if strings.HasSuffix(name, "_total") || strings.HasSuffix(name, "_sum") {
				step = 0.3
			}
			add(step, 30, name, app...)
		}
	}
	return s
}

// hostSeries are those of the host probe's fixture: name, then names and values of labels.
func hostSeries(tb testing.TB) (out [][]string) {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "watch", "probe", "testdata", "host.golden"))
	failure.None(tb, err)
	for line := range strings.Lines(string(b)) {
		one := []string{regexp.MustCompile(`^\w+`).FindString(line)}
		for _, l := range regexp.MustCompile(`(\w+)="([^"]*)"`).FindAllStringSubmatch(line, -1) {
			one = append(one, l[1], l[2])
		}
		out = append(out, one)
	}
	return out
}

// second returns the samples of the next second.
func (s *keptSeries) second(rng *rand.Rand, load float64, users int) []series.Sample {
	for i := range s.batch {
		switch {
		case s.step[i] > 0:
			more := s.step[i] * load * (0.9 + 0.2*rng.Float64())
			if name := s.batch[i].Name; strings.HasSuffix(name, "_bucket") ||
				strings.HasSuffix(name, "_count") {
				more = math.Floor(more + rng.Float64()) // they count
			} else {
				more = math.Round(1e3*more) / 1e3
			}
			s.batch[i].Value += more
		case s.batch[i].Name == "plimsoll_slo_threshold":
			s.batch[i].Value = s.level[i]
		default:
			s.batch[i].Value = s.level[i] * load * (0.98 + 0.04*rng.Float64())
		}
	}
	for _, i := range s.users {
		s.batch[i].Value = float64(users)
	}
	return s.batch
}

// keptFirst opens the first run of a kept comparison, with its plan and its series.
func keptFirst(tb testing.TB, shape keptShape) (*record.Run, *plan.Plan, *series.DB) {
	tb.Helper()
	st, id := keptComparison(tb, tb.TempDir(), shape)
	c, err := st.Comparison(id)
	failure.None(tb, err)
	p, err := plan.Parse([]byte(c.Plan))
	failure.None(tb, err)
	r, err := st.Run(c.Runs[0].Run)
	failure.None(tb, err)
	db, err := catalog().Of(r).Series()
	failure.None(tb, err)
	tb.Cleanup(func() { db.Close() })
	return r, p, db
}
