package report

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"plimsoll/judge/attribution"
	"plimsoll/judge/attribution/statements"
)

const (
	server    = "example.org/chat/server/v8/channels/"
	rendering = server + "app.(*App).PreparePostForClient"
)

// attributedCost is a cost of 2.2 ms that rose by 15 %: 71 % of it in one function, the rest
// spread; with what a part may be.
func attributedCost() Attributed {
	fn := func(name string, kind attribution.Kind) attribution.Function {
		return attribution.Function{Name: name, Kind: kind, Binary: "chat"}
	}
	around := func(v, by float64) attribution.IntervalEstimate {
		return attribution.IntervalEstimate{Value: v, Low: v - by, High: v + by}
	}
	prepare := fn(server+"store/sqlstore.(*SqlPostStore).prepareThreadedResponse", attribution.Own)
	create := fn(server+"api4.createPost", attribution.Own)
	old := fn("example.org/chat-server/v6/app.(*App).PreparePost", attribution.Own)
	a := attribution.Attribution{
		Role: "app", Blocks: 6, Base: 2.2e-3, New: 2.53e-3, Change: around(0.15, 0.01),
		CouldFind: 0.018,
		Findings: []attribution.FunctionChange{
			{
				Kind: attribution.Changed, Function: prepare,
				Callers: []attribution.Function{create}, Also: []string{"garbage collector"},
				Base: 616e-6, New: 850.3e-6, Cost: around(234.3e-6, 55e-6),
				Change: around(0.38, 0.09), Q: 2e-7,
			},
			{
				Kind: attribution.Changed, Function: fn(rendering, attribution.Own), From: &old,
				Renamed: true, Callers: []attribution.Function{create},
				Within: []attribution.Function{fn("encoding/json.Marshal", attribution.Library)},
				Base:   220e-6, New: 180e-6, Cost: around(-40e-6, 20e-6),
				Change: around(-0.18, 0.09), Q: 0.004,
			},
			{
				Kind:     attribution.Added,
				Function: fn(server+"app.Map[go.shape.string,go.shape.struct{ x/y.Z }].func1", attribution.Own),
				New:      12e-6, Cost: around(12e-6, 8e-6), Q: 0.03,
			},
		},
		Parts: []attribution.CostPart{
			{Kind: attribution.PartFunction, Name: prepare.Name, Cost: around(234.3e-6, 55e-6), Share: 0.71},
			{Kind: attribution.PartSpread, Finding: -1, Cost: around(82e-6, 30e-6), Share: 0.2485},
			{Kind: attribution.PartFunction, Name: rendering, Finding: 1, Cost: around(-40e-6, 20e-6), Share: -0.1212},
			{Kind: attribution.PartGroup, Name: "garbage collector", Finding: -1, Cost: around(30e-6, 12e-6), Share: 0.0909},
			{Kind: attribution.PartFunction, Name: server + "app.Map[x].func1", Finding: 2, Cost: around(12e-6, 8e-6), Share: 0.0364},
			{Kind: attribution.PartRest, Finding: -1, Cost: around(9e-6, 25e-6), Share: 0.0273},
			{Kind: attribution.PartUnknown, Finding: -1, Cost: around(2.7e-6, 4e-6), Share: 0.0082},
		},
	}
	leaf := func(f attribution.Function, base, fresh float64, finding int, below ...*attribution.Node) *attribution.Node {
		return &attribution.Node{Function: f, Base: base * 1e-6, New: fresh * 1e-6, Finding: finding, Children: below}
	}
	var many []*attribution.Node
	for i := range 40 {
		v := 300 * math.Pow(0.8, float64(i))
		many = append(many, leaf(fn(fmt.Sprintf("%sapp.(*App).Handler%d", server, i), attribution.Own), v*0.66, v*0.68, -1))
	}
	a.Tree = leaf(attribution.Function{}, 2200, 2530, -1,
		leaf(fn("net/http.(*conn).serve", attribution.Library), 1950, 2250, -1,
			leaf(create, 960, 1160, -1,
				leaf(prepare, 616, 850.3, 0,
					leaf(fn("encoding/json.Marshal", attribution.Library), 300, 480, -1),
					leaf(fn("[kernel] write", attribution.Kernel), 100, 104, -1)),
				leaf(fn(rendering, attribution.Own), 220, 180, 1)),
			leaf(fn(server+"app.handlers", attribution.Own), 970, 1000, -1, many...)),
		leaf(fn("runtime.gcBgMarkWorker", attribution.Runtime), 200, 230, -1),
		leaf(fn("main.goneForGood", attribution.Own), 50, 0, -1))
	return Attributed{Attribution: a, Profiles: [2]string{"runs/r-0001/app.pprof", "runs/r-0002/app.pprof"}}
}

// attributedStatements are two statements that changed, one of them by its plan.
func attributedStatements() *statements.Difference {
	around := func(v, by float64) attribution.IntervalEstimate {
		return attribution.IntervalEstimate{Value: v, Low: v - by, High: v + by}
	}
	return &statements.Difference{
		Blocks: 6, Base: 410e-6, New: 620e-6, Change: around(0.51, 0.08),
		Findings: []statements.ChangedStatement{
			{
				Kind: statements.Changed,
				Text: "SELECT p.* FROM posts p WHERE p.channelid = $1 AND p.deleteat = $2 AND " +
					"to_tsvector($3, p.message) @@ to_tsquery($4, $5) ORDER BY p.createat DESC LIMIT $6",
				Operation: "search", Cost: around(190e-6, 30e-6), Share: 0.9, Q: 1e-6,
				Figures: []statements.StatementMeasure{
					{Measure: statements.Time, Base: 89e-6, New: 279e-6, Change: around(2.14, 0.3)},
					{Measure: statements.Rows, Base: 1.2, New: 1.2},
					{Measure: statements.Reads, Base: 40, New: 310, Change: around(6.75, 0.5), Found: true},
				},
				Plan: &statements.PlanChange{
					From: "Index Scan using idx_posts_create_at", To: "Bitmap Heap Scan on posts",
					Base:   "Limit\n  Index Scan using idx_posts_create_at on posts\n",
					Differ: 6, Of: 6,
					New: "Limit\n  Sort\n    Bitmap Heap Scan on posts\n      Bitmap Index Scan on idx_posts_message_txt\n",
				},
			},
			{
				Kind: statements.Added, Text: "UPDATE threads SET lastreplyat = $1 WHERE postid = $2",
				Cost: around(20e-6, 9e-6), Share: 0.095, Q: 0.02,
			},
		},
		Plans: []statements.ChangedStatement{{
			Kind: statements.Planned, Text: "SELECT c.* FROM channels c WHERE c.teamid = $1", Q: 1,
			Cost: around(1e-6, 4e-6),
			Figures: []statements.StatementMeasure{
				{Measure: statements.Time, Base: 12e-6, New: 13e-6, Change: around(0.08, 0.4)},
			},
			Plan: &statements.PlanChange{
				From: "Seq Scan on channels", To: "Bitmap Index Scan using channels_pkey",
				Base: "Seq Scan on channels", Differ: 6, Of: 6,
				New: "Bitmap Heap Scan on channels\n  Bitmap Index Scan using channels_pkey",
			},
		}},
	}
}

// A plan that differs is no sentence, and its time is not said to have changed.
func TestPlanAlone(t *testing.T) {
	s := StatementsOf{Difference: *attributedStatements()}
	s.Findings = nil
	s.say(NamedVerdict{})
	if s.First || s.Sentence != "" {
		t.Errorf("%v %q", s.First, s.Sentence)
	}
	all := Document{}.statementSections(s)
	if len(all) != 2 || all[0].Table != nil || len(all[1].Table.Rows) != 1 {
		t.Fatalf("%+v", all)
	}
	if got := fmt.Sprint(all[1].Table.Rows[0]); !strings.Contains(got, "did not change for certain") {
		t.Errorf("%s", got)
	}
}
