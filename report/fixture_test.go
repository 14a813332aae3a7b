package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"plimsoll/dialect"
	"plimsoll/judge/limiter"
	"plimsoll/judge/verdict"
	"plimsoll/load/measure"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/stats"
)

// A scene is a comparison to invent: the values of each arm on each engine, and the failures.
type scene struct {
	// share of the intended operations; an absent arm has no record
	begun         map[string]float64
	arms, engines []string
	names         map[string]string // of the engines
	blocks        int
	capacity      map[string]float64 // by engine/arm
	slower        map[string]float64 // factor on latencies, by engine/arm
	bounded       bool
	unbounded     bool
	atLeast       func(engine, arm string, block int) bool
	invalid       func(block, order int) bool
	stopAfter     int // runs, 0 for all
	graphs        []string
	plan          *plan.Plan
	hostile       string
	further       bool              // metrics beside the primary endpoints
	rich          bool              // all that a result may have
	seconds       int               // of the search
	broken        bool              // the bounded test breaks a rule
	limits        map[string]string // limiters of the runs, by engine/arm
}

const planText = `
name: quickstart
seed: 7
target: {driver: refchat, instances: 1}
database: {engine: [postgresql, mysql]}
workload: {behavior: poster, pace: 0.1}
bounded: {users: {postgresql: 400, mysql: 300}, ramp: 5s, settle: 3s, measure: 10s}
unbounded:
  max_users: 5000
  slo: ["p99(op) < 2s", "mean(op) < 100ms", "rate(5xx) < 0.025% min 8000", "cpu(app) < 85%"]
compare:
  arms: {base: {}, new: {args: ["-fault=cpu:25%"]}}
  combine: true
  blocks: 6
  margin: {errors: 0.1pp}
setup: {note: "a planted slowdown"}
`

func mustPlan(text string) *plan.Plan {
	p, err := plan.Parse([]byte(text))
	if err != nil {
		panic(err)
	}
	return p
}

// full is the comparison of two arms on two databases: new is worse on PostgreSQL and the same on
// MariaDB.
func full() scene {
	return scene{
		arms:    []string{"base", "new"},
		engines: []string{"postgresql", "mysql"},
		names:   map[string]string{"postgresql": "PostgreSQL 15.18", "mysql": "MariaDB 10.11.19"},
		blocks:  6,
		capacity: map[string]float64{
			"postgresql/base": 1320,
			"postgresql/new":  1150,
			"mysql/base":      1240,
			"mysql/new":       1243,
		},
		slower: map[string]float64{
			"postgresql/base": 1,
			"postgresql/new":  1.3,
			"mysql/base":      1.1,
			"mysql/new":       1.1,
		},
		bounded:   true,
		unbounded: true,
		plan:      mustPlan(planText),
		seconds:   40,
		graphs:    []string{"avg-api-times", "p99-api-times", "cpu-utilization", "rps"},
		begun: map[string]float64{
			"postgresql/base": 1,
			"postgresql/new":  0.75,
			"mysql/base":      0.998,
		},
		limits: map[string]string{
			"postgresql/base": "cpu app",
			"postgresql/new":  "db-pool app",
			"mysql/base":      "cpu app",
			"mysql/new":       "cpu app",
		},
	}
}

func endpoints(s scene) []plan.Endpoint {
	var out []plan.Endpoint
	if s.unbounded {
		out = append(out, plan.Endpoint{
			Name:   "capacity",
			Better: plan.Higher,
			Margin: 0.05,
			Unit:   "users",
		})
	}
	if s.bounded {
		out = append(out, plan.Endpoint{
			Name:   "p95(post)",
			Better: plan.Lower,
			Margin: 0.1,
			Unit:   "ms",
		},
			plan.Endpoint{
				Name:     "errors",
				Better:   plan.Lower,
				Margin:   0.1,
				Absolute: true,
				Unit:     "%",
			})
	}
	return out
}

// input invents the comparison. The same scene gives the same input.
func (s scene) input() Input {
	rng := rand.New(rand.NewPCG(7, uint64(s.blocks)))
	c := &record.Comparison{
		Format:  1,
		ID:      "c-0001",
		Name:    "quickstart" + s.hostile,
		Tool:    "plimsoll v0.1.0",
		Arms:    s.arms,
		Engines: s.engines,
		Blocks:  s.blocks,
		State:   record.Sealed,
		Started: time.Date(2026, 5, 4, 9, 30, 0, 0, time.UTC),
		Start:   map[string]int{},
	}
	c.Ended = c.Started.Add(13*time.Minute + 20*time.Second)
	if s.plan != nil {
		c.Plan, c.PlanDigest = s.plan.String(), s.plan.Digest()
	}
	in := Input{Comparison: c, Plan: s.plan, EngineNames: s.names}
	for _, name := range s.graphs {
		in.Graphs = append(in.Graphs, GraphSpec{
			Name:  name + s.hostile,
			Title: title(name) + s.hostile,
			Unit:  "ms",
			Scale: 1000,
		})
	}
	id := 0
	for b := 1; b <= s.blocks; b++ {
		order := 0
		var cells []record.ComparisonRun
		for _, e := range s.engines {
			for k := range s.arms {
				a := s.arms[(k+b)%len(s.arms)]
				order++
				id++
				if s.stopAfter > 0 && id > s.stopAfter {
					c.State, c.Why = record.Interrupted, "interrupt"
					continue
				}
				cells = append(cells, record.ComparisonRun{
					Run:    fmt.Sprintf("r-%04d", id),
					Digest: fmt.Sprintf("sha256:%064d", id),
					Block:  b,
					Order:  order,
					Arm:    a,
					Engine: e,
					Valid:  s.invalid == nil || !s.invalid(b, order),
				})
			}
		}
		bad := false
		for _, cell := range cells {
			bad = bad || !cell.Valid
		}
		for _, cell := range cells {
			if bad {
				cell.Dropped, cell.Why = true, "another run of the block was not valid"
			}
			c.Runs = append(c.Runs, cell)
			in.Runs = append(in.Runs, s.run(rng, cell))
		}
	}
	in.Arms, in.Databases = s.judge(in)
	if s.rich {
		enrich(&in)
	}
	return in
}

// enrich adds what a comparison may have beside its endpoints: the typical response time, a cost
// and what it implies, failed runs, an endpoint that could not be decided, a correction, shifts,
// drifts, pages and a chapter.
func enrich(in *Input) {
	typical := plan.Endpoint{
		Name:   "typical(op)",
		Stat:   plan.Typical,
		Of:     "op",
		Better: plan.Lower,
		Margin: 0.05,
		Unit:   "ms",
	}
	cost := plan.Endpoint{Name: "cost(app)", Better: plan.Lower, Margin: 0.05, Unit: "ms"}
	rng := rand.New(rand.NewPCG(502, 1))
	for i := range in.Arms {
		j := &in.Arms[i]
		of := func(e plan.Endpoint, base, ratio float64) verdict.Result {
			var pairs []verdict.Pair
			for k := range 6 {
				level := base + float64(k)/10
				pairs = append(pairs, verdict.Pair{
					Block: k + 1,
					Base:  level,
					New:   level * ratio * math.Exp(0.002*float64(k)),
				})
			}
			return verdict.Judge(e, pairs, verdict.Fixed(6))
		}
		results := append(j.Verdict.Results, of(typical, 12, 1.4-0.4*float64(i)), of(cost, 2, 1.15),
			verdict.JudgeFailed(verdict.Attempts{Runs: 8}, verdict.Attempts{
				Runs:   8,
				Failed: 2,
				What:   []string{"stationary in block 3", "start in block 5"},
			},
				verdict.Options{BaseName: "base", NewName: "new"}))
		results[3].Kinds = &verdict.Kinds{
			Compared: 21,
			Share:    0.984,
			Left:     []string{"pin", "upload"},
			Least:    10,
		}
		results[4].ByClock = [2]float64{0.006, 0.383}
		j.Verdict = verdict.Combine(j.Verdict.Database, results, "p99(op)")
		j.Skipped["p99(op)"] = "40 min of load for 15 %; 6 blocks can find 57 %"
		j.Shifts = []verdict.Shift{slowEnd(rng)}
		if i == 0 {
			j.Costs, j.Statements = []Attributed{attributedCost()}, attributedStatements()
		}
	}
	for i := range in.Runs {
		r := &in.Runs[i]
		r.Drift = hour(rng, 41, 60+rng.NormFloat64())
		r.Pages = []PageRef{
			NewPageRef(*r, Bounded, SystemPage),
			NewPageRef(*r, Bounded, CoordinatorPage),
			NewPageRef(*r, Unbounded, SystemPage),
		}
	}
	line := dialect.Curve{T: []float64{0, 1, 2}, V: []float64{5, 6, 7}}
	in.Chapters = []dialect.Supplement{{
		Title: "What was said before",
		Leads: []string{"A lead <b>."},
		Notes: []string{"A paragraph with a | in it."},
		Tables: []dialect.TextTable{{
			Title: "A table",
			Head:  []string{"Claim", ">Here"},
			Rows:  [][]string{{"one", "1.11 [1.0, 1.2]"}},
			Notes: []string{"A note."},
		}},
		Charts: []dialect.Chart{
			{
				Name:  "stories-a",
				Title: "Stories per minute, a",
				Unit:  "1/min",
				Lines: []dialect.ChartLine{{
					Label: "client",
					Index: 0,
					Runs:  []dialect.Curve{line, line},
				}, {Label: "server", Index: 1, Runs: []dialect.Curve{line}}, {Label: "nobody"}},
			},
			{Name: "nothing", Title: "Nothing", Lines: []dialect.ChartLine{{Label: "x"}}},
		},
	}}
}

// slowEnd is a shift of the slowest responses of an operation by a third.
func slowEnd(rng *rand.Rand) verdict.Shift {
	run := func(slower float64) []stats.SparseCounts {
		c := stats.SparseCounts{}
		level := 1 + 0.01*rng.NormFloat64()
		for k := 1; k <= 100; k++ {
			v := float64(k) * level
			if k > 92 {
				v *= slower
			}
			c.Value, c.N = append(c.Value, v), append(c.N, 60)
		}
		return []stats.SparseCounts{c}
	}
	var pairs []stats.RunPair
	for range 6 {
		pairs = append(pairs, stats.RunPair{Base: run(1), New: run(1.3)})
	}
	x, _ := verdict.FindShift("op", pairs, 1)
	return x
}

func title(name string) string {
	return map[string]string{
		"avg-api-times":   "Avg API times",
		"p99-api-times":   "P99 API times",
		"cpu-utilization": "CPU utilization",
		"rps":             "RPS",
	}[name]
}

func (s scene) run(rng *rand.Rand, cell record.ComparisonRun) RunData {
	key := cell.Engine + "/" + cell.Arm
	slower := cmp.Or(s.slower[key], 1)
	m := record.Manifest{
		Format:     1,
		ID:         cell.Run,
		Name:       "quickstart",
		Tool:       "plimsoll v0.1.0",
		State:      record.Sealed,
		Seed:       7,
		Arm:        cell.Arm,
		Engine:     cell.Engine,
		Block:      cell.Block,
		Order:      cell.Order,
		SharedHost: true,
		Generator:  []int{1},
		TargetCPUs: []int{0},
		Clock:      "CLOCK_MONOTONIC (tsc)",
		Host: json.RawMessage(
			`{"os":"Debian GNU/Linux 12","kernel":"6.1.0-31-amd64","cpu_model":"Example CPU","cpus":2,"memory_bytes":8321499136,"virtualization":"kvm"}`,
		),
		Target: json.RawMessage(
			`{"driver":"refchat","database":{"name":"Example DB","version":"15.18","settings":{"fsync":"on","synchronous_commit":"on","shared_buffers":"128MB"}}}`,
		),
	}
	r := RunData{
		Cell:     cell,
		Validity: record.Validity{Valid: cell.Valid},
		Ops:      map[string]*measure.Window{},
		Series:   map[string]map[string]Line{},
	}
	if name := s.limits[key]; name != "" &&
		(s.atLeast == nil || !s.atLeast(cell.Engine, cell.Arm, cell.Block)) {
		r.Limiter = &limiter.Limiter{
			Name:       name,
			Kind:       strings.Fields(name)[0],
			Confidence: limiter.High,
			Sentence:   "Limited by " + name + ": 97 % at capacity, limit 85 %.",
		}
	}
	at := time.Duration(0)
	phase := func(name string, d time.Duration, users int) {
		m.Phases = append(m.Phases, record.Phase{Name: name, From: at, To: at + d, Users: users})
		at += d
	}
	noise := func(sd float64) float64 { return math.Exp(sd * rng.NormFloat64()) }
	if s.bounded {
		phase("ramp", 5*time.Second, 400)
		phase("settle", 3*time.Second, 400)
		phase("measure", 10*time.Second, 400)
		r.Ops["post"+s.hostile] = window(rng, "post"+s.hostile, 2000, 8*slower, uint64(rng.IntN(2)))
		r.Ops["view"] = window(rng, "view", 400, 2*slower, 0)
		r.Ops["delivery"] = window(rng, "delivery", 4000, 12*slower, 0)
		r.Ops["schedule"] = window(rng, "schedule", 2400, 0.1, 0)
		if share := s.begun[key]; share > 0 {
			ph := &m.Phases[len(m.Phases)-1]
			ph.Schedule = &record.Schedule{
				Of:       record.OfUsers,
				Achieved: 2400,
				Intended: 2400 / share,
			}
			ph.Tail = &record.Tail{Waited: 40 * time.Millisecond}
			ph.Tail.Add("post", record.TailOp{Drained: 3, OK: 3})
			const gone = "expected_404 app.post.get.app_error view"
			r.Ops[gone] = measure.NewWindow(gone)
			r.Ops[gone].Classes[measure.Status4xx] = 4
			r.Omitted = map[string]*measure.Window{}
			if share < record.LeastAchieved {
				ph.Tail.Add("view", record.TailOp{Open: 2, Least: time.Millisecond})
				never := measure.NewWindow("post")
				for i := range 800 {
					never.Response.Record(time.Duration(i) * 5 * time.Millisecond)
				}
				r.Omitted["post"] = never
			}
		}
		if cell.Arm == s.arms[0] {
			r.Ops["typing"] = window(rng, "typing", 60, 1, 0)
		}
		r.Series[Bounded] = s.series(rng, slower, 18)
		r.Events = append(r.Events,
			record.Event{
				At:    18 * time.Second,
				Kind:  "slo",
				Rule:  "p99(op) < 2s",
				Value: 0.030 * slower * noise(0.05),
				Limit: 2,
				Count: 2400,
				Phase: measuredPhase,
			},
			evaluated(18*time.Second, measuredPhase, "cpu(app) < 85%", 0.31*slower*noise(0.03), 0.85))
		if s.broken {
			r.Events[len(r.Events)-1].Violated = true
		}
	}
	if s.unbounded {
		from := at
		phase("search", time.Duration(s.seconds)*time.Second, 0)
		users := s.capacity[key] * noise(0.012)
		m.Capacity = &record.Capacity{
			Kind:    record.Estimate,
			Users:   math.Round(users),
			Lo:      users * 0.98,
			Hi:      users * 1.02,
			Rule:    "cpu(app) < 85%",
			Stopped: "precision: the interval is narrow enough",
			Margins: []record.RuleMargin{{
				Rule:  "cpu(app) < 85%",
				Value: noise(0.01),
				Limit: 1,
			}, {Rule: "p99(op) < 2s", Value: 0.06 * noise(0.1), Limit: 1}},
		}
		if s.atLeast != nil && s.atLeast(cell.Engine, cell.Arm, cell.Block) {
			m.Capacity = &record.Capacity{
				Kind:    record.AtLeast,
				Users:   5000,
				Lo:      5000,
				Stopped: "max users: 5000 were reached",
				Rule:    "",
			}
		}
		for t := range s.seconds {
			n := int(users * (0.6 + 0.42*float64(t)/float64(s.seconds)))
			load := float64(n) / s.capacity[key]
			r.Events = append(r.Events, record.Event{
				At:    from + time.Duration(t)*time.Second,
				Kind:  "users",
				Users: n,
				Phase: "search",
			})
			cpu := 0.85 * load * noise(0.01)
			r.Events = append(r.Events,
				record.Event{
					At:    from + time.Duration(t)*time.Second,
					Kind:  "slo",
					Rule:  "p99(op) < 2s",
					Value: 0.05 * slower / (1.05 - math.Min(load, 1)) * noise(0.05),
					Limit: 2,
					Count: 300,
					Phase: "search",
				},
				record.Event{
					At:       from + time.Duration(t)*time.Second,
					Kind:     "slo",
					Rule:     "cpu(app) < 85%",
					Value:    cpu,
					Limit:    0.85,
					Phase:    "search",
					Violated: cpu > 0.85,
				})
		}
		r.Series[Unbounded] = s.series(rng, slower, s.seconds)
	}
	if !cell.Valid {
		r.Validity.Findings = []record.Finding{{
			Gate:  "lag",
			Level: record.Red,
			Value: 31,
			Limit: 20,
			Unit:  "ms",
			Text:  "the generator began 1 % of its actions 31ms late or more (n 2400)" + s.hostile,
		}}
	} else if cell.Block == 2 && cell.Order == 1 {
		r.Validity.Findings = []record.Finding{{
			Gate:  "generator cpu",
			Level: record.Amber,
			Value: 72,
			Limit: 70,
			Unit:  "%",
			Text:  "the generator's cores were 72 % busy",
		}}
	}
	r.Validity.Gates = []record.GateOutcome{
		gate("lag", "p99 of how late actions began", "ms", 5, 20, record.Green, 2.5, 7.5, 1),
		gate(
			"core",
			"the busiest of the generator's cores, whoever uses it",
			"%",
			70,
			85,
			record.Green,
			40,
			55,
			0,
		),
		{
			Name:  "inbox",
			What:  "p99 of how long WebSocket events lay in the kernel",
			Unit:  "ms",
			Amber: 50,
			Red:   500,
			Level: record.NotMeasured,
			Why:   "no WebSocket event came" + s.hostile,
		},
		gate(
			"fds_free",
			"open files that are left",
			"",
			1000,
			500,
			record.Green,
			18_000+float64(cell.Block),
			17_000+float64(cell.Block),
			0,
		),
	}
	r.Validity.Gates[3].Floor = true
	if !cell.Valid {
		r.Validity.Gates[0] = gate(
			"lag",
			"p99 of how late actions began",
			"ms",
			5,
			20,
			record.Red,
			31,
			44,
			60,
		)
	} else if cell.Block == 2 && cell.Order == 1 {
		r.Validity.Gates[1] = gate("core", "the busiest of the generator's cores, whoever uses it", "%", 70, 85, record.Amber, 72, 81, 40)
	}
	r.Manifest = m
	return r
}

func gate(
	name, what, unit string,
	amber, red float64,
	level string,
	value, worst float64,
	beyond int,
) record.GateOutcome {
	return record.GateOutcome{
		Name:         name,
		What:         what,
		Unit:         unit,
		Amber:        amber,
		Red:          red,
		Level:        level,
		Value:        &value,
		Worst:        &worst,
		Seconds:      60,
		AmberSeconds: beyond,
	}
}

func (s scene) series(rng *rand.Rand, slower float64, seconds int) map[string]Line {
	out := map[string]Line{}
	for i, name := range s.graphs {
		var l Line
		level := slower * 12 * float64(i+1) * math.Exp(0.06*rng.NormFloat64())
		for t := range seconds + 1 {
			x := float64(t) / float64(seconds)
			l.T = append(l.T, float64(t))
			l.V = append(l.V, level*(0.4+x)*math.Exp(0.05*rng.NormFloat64()))
		}
		out[name+s.hostile] = l
	}
	return out
}

func window(rng *rand.Rand, name string, n int, ms float64, failed uint64) *measure.Window {
	w := measure.NewWindow(name)
	for range n {
		w.Response.Record(
			time.Duration(ms * math.Exp(0.5*rng.NormFloat64()) * float64(time.Millisecond)),
		)
		w.Classes[measure.OK]++
	}
	w.Classes[measure.Status5xx] += failed
	return w
}

// judge judges the invented runs as the caller of From does.
func (s scene) judge(in Input) (arms, databases []Judged) {
	whole := in.Comparison.WholeBlocks()
	find := func(block int, engine, arm string) (RunData, bool) {
		for _, r := range in.Runs {
			if r.Cell.Block == block && r.Cell.Engine == engine && r.Cell.Arm == arm &&
				r.Cell.Valid &&
				!r.Cell.Dropped &&
				whole[block] {
				return r, true
			}
		}
		return RunData{}, false
	}
	number := func(r RunData, e plan.Endpoint) (v float64, censored bool) {
		switch e.Name {
		case "capacity":
			return r.Manifest.Capacity.Users, r.Manifest.Capacity.Kind == record.AtLeast
		case "errors":
			w := r.Ops["post"+s.hostile]
			return 100 * float64(w.Errors()) / float64(w.Count()), false
		default:
			return float64(r.Ops["post"+s.hostile].Response.Quantile(0.95)) / 1e6, false
		}
	}
	users := func(engine string) (n int) {
		if s.plan != nil && s.plan.Bounded != nil {
			n, _ = s.plan.Bounded.UsersFor(engine)
		}
		return n
	}
	judge := func(name, e1, a1, e2, a2, l1, l2 string) Judged {
		skipped := map[string]string{
			"p95(upload)": "no such operation was measured" + s.hostile,
			"p99(login)":  "12 operations are too few for p99: want 459",
		}
		otherLoad := users(e1) != users(e2)
		var results []verdict.Result
		for _, e := range endpoints(s) {
			if otherLoad && e.Name != "capacity" {
				skipped[e.Name] = fmt.Sprintf(
					"%s had %d users and %s %d: what was measured under different loads is not compared",
					l1,
					users(e1),
					l2,
					users(e2),
				)
				continue
			}
			var pairs []verdict.Pair
			for b := 1; b <= s.blocks; b++ {
				x, ok1 := find(b, e1, a1)
				y, ok2 := find(b, e2, a2)
				if !ok1 || !ok2 {
					continue
				}
				p := verdict.Pair{Block: b}
				if e.Name == "errors" {
					p.BaseOps, p.NewOps = 50_000, 50_000
				}
				p.Base, p.BaseCensored = number(x, e)
				p.New, p.NewCensored = number(y, e)
				pairs = append(pairs, p)
			}
			opt := verdict.Fixed(s.blocks)
			opt.BaseName, opt.NewName = l1, l2
			results = append(results, verdict.Judge(e, pairs, opt))
		}
		var further *verdict.Family
		if s.further && !otherLoad {
			m := verdict.Metric{
				Name:   "p50(post" + s.hostile + ")",
				Unit:   "ms",
				Better: plan.Lower,
				Floor:  2,
			}
			still := verdict.Metric{Name: "p50(read)", Unit: "ms", Better: plan.Lower, Floor: 2}
			rare := verdict.Metric{Name: "p50(search)", Unit: "ms", Better: plan.Lower, Floor: 2}
			for b := 1; b <= s.blocks; b++ {
				x, ok1 := find(b, e1, a1)
				y, ok2 := find(b, e2, a2)
				if !ok1 || !ok2 {
					continue
				}
				p := verdict.Pair{
					Block: b,
					Base:  float64(x.Ops["post"+s.hostile].Response.Quantile(0.5)) / 1e6,
					New:   float64(y.Ops["post"+s.hostile].Response.Quantile(0.5)) / 1e6,
				}
				m.Pairs = append(m.Pairs, p)
				still.Pairs = append(still.Pairs, verdict.Pair{
					Block: b,
					Base:  30 + p.Base/20,
					New:   30 + p.Base/25,
				})
				if b < 3 {
					rare.Pairs = append(rare.Pairs, p)
				}
			}
			f := verdict.JudgeFamily([]verdict.Metric{m, still, rare}, map[string]int64{
				"post":            1,
				"old" + s.hostile: 1,
			}, map[string]int64{"post": 1, "thread": 2})
			further = &f
		}
		return Judged{
			Engine:    e2,
			Arm:       a2,
			Secondary: further,
			Verdict:   verdict.Combine(name, results),
			Skipped:   skipped,
		}
	}
	for _, e := range s.engines {
		for _, a := range s.arms[1:] {
			arms = append(arms, judge(e, e, s.arms[0], e, a, s.arms[0], a))
		}
	}
	for _, e := range s.engines[1:] {
		for _, a := range s.arms {
			databases = append(databases, judge(e, s.engines[0], a, e, a, s.engines[0], e))
		}
	}
	return arms, databases
}
