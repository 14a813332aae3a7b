package console

import (
	"encoding/json"
	"strings"

	"plimsoll/evidence"
	"plimsoll/judge/verdict"
	"plimsoll/record"
	"plimsoll/report"
)

// mostReports bounds the comparisons whose verdicts, and the runs whose limiters, are kept.
const mostReports = 300

// concluded returns the stored outcome of a comparison; false if it was not judged yet. A report
// beside it is for people: nothing would show that it was changed.
func concluded(c *record.Comparison) (o evidence.Conclusion, ok bool) {
	err := json.Unmarshal(c.Outcome, &o)
	return o, err == nil && len(o.Verdicts) > 0 && c.State != record.Running
}

// resultText returns the verdicts of an outcome in one cell each.
func resultText(o evidence.Conclusion) string {
	var out []string
	for _, v := range o.Verdicts {
		out = append(out, strings.TrimSpace(v.Engine+" "+v.Arm+" "+string(v.Verdict.Kind)))
	}
	return strings.Join(out, ", ")
}

// judgedInto adds endpoints, dots, differences and verdicts of an outcome to the Judged of the
// contract. Values are in the endpoint's unit; effects, intervals and margins are fractions of the
// base, or in that unit where the endpoint is absolute. A bound instead of a number has no dot, and
// its pair no difference. The base has one dot per block and endpoint, whichever arm it was
// compared with.
func judgedInto(out map[string]any, o evidence.Conclusion) {
	endpoints := []any{}
	differences := []any{}
	verdicts := []any{}
	dots := dotsOf{values: map[dotKey][][2]float64{}}
	seen := map[string]bool{}
	for _, v := range o.Verdicts {
		said := map[string]any{
			"engine":     v.Engine,
			"arm":        v.Arm,
			"kind":       v.Verdict.Kind,
			"text":       strings.TrimPrefix(v.Verdict.Lead, v.Engine+": "),
			"indicative": o.Indicative,
		}
		if len(v.Why) > 0 {
			said["why"] = v.Why
		}
		verdicts = append(verdicts, said)
		for _, e := range v.Verdict.Results {
			if !seen[e.Name] {
				seen[e.Name] = true
				endpoints = append(endpoints, endpointObject(e))
			}
			for _, p := range e.Pairs {
				if !p.BaseCensored {
					dots.add(dotKey{e.Name, v.Engine, "base"}, p.Block, p.Base)
				}
				if !p.NewCensored {
					dots.add(dotKey{e.Name, v.Engine, v.Arm}, p.Block, p.New)
				}
			}
			d := differenceObject(e)
			d["engine"] = v.Engine
			d["arm"] = v.Arm
			differences = append(differences, d)
		}
	}
	out["endpoints"] = endpoints
	out["dots"] = dots.objects()
	out["differences"] = differences
	out["verdicts"] = verdicts
	if len(o.Limiters) > 0 {
		out["limiters"] = limiterObjects(o.Limiters)
	}
}

// A dotKey names a row of dots.
type dotKey struct{ endpoint, engine, arm string }

// dotsOf holds the block and value of each dot, with the keys in the order in which they came.
type dotsOf struct {
	keys   []dotKey
	values map[dotKey][][2]float64
}

// add adds a dot unless its row has one of this block.
func (d *dotsOf) add(k dotKey, block int, v float64) {
	if _, there := d.values[k]; !there {
		d.keys = append(d.keys, k)
	}
	for _, old := range d.values[k] {
		if old[0] == float64(block) {
			return
		}
	}
	d.values[k] = append(d.values[k], [2]float64{float64(block), v})
}

func (d *dotsOf) objects() []any {
	out := []any{}
	for _, k := range d.keys {
		out = append(out, map[string]any{
			"endpoint": k.endpoint,
			"engine":   k.engine,
			"arm":      k.arm,
			"values":   d.values[k],
		})
	}
	return out
}

// endpointObject describes the endpoint of a result.
func endpointObject(e verdict.Result) map[string]any {
	test := "bounded"
	if e.Name == "capacity" {
		test = "unbounded"
	}
	return map[string]any{
		"name":    e.Name,
		"test":    test,
		"unit":    e.Unit,
		"better":  e.Better,
		"primary": true,
	}
}

// differenceObject describes the difference that a result found, and that of each pair.
func differenceObject(e verdict.Result) map[string]any {
	pairs := [][2]float64{}
	for _, p := range e.Pairs {
		by := p.New - p.Base
		if !e.Absolute {
			by = p.New/p.Base - 1
		}
		if !p.BaseCensored && !p.NewCensored && report.Number(by).Known() {
			pairs = append(pairs, [2]float64{float64(p.Block), by})
		}
	}
	d := map[string]any{
		"endpoint": e.Name,
		"n":        e.N,
		"pairs":    pairs,
		"margin":   e.Margin,
		"absolute": e.Absolute,
		"kind":     e.Kind,
		"text":     strings.TrimPrefix(e.Sentence, e.Name+": "+string(e.Kind)+": "),
	}
	lo, hi, level := e.Decisive()
	for name, x := range map[string]float64{"effect": e.Effect, "lo": lo, "hi": hi} {
		if report.Number(x).Known() {
			d[name] = x
		}
	}
	if e.Alpha > 0 {
		d["level"] = level
	}
	if e.MDE > 0 && report.Number(e.MDE).Known() {
		d["finds"] = e.MDE
	}
	return d
}

func limiterObjects(limiters []report.SearchEnds) []any {
	out := []any{}
	for _, l := range limiters {
		out = append(out, map[string]any{
			"engine":   l.Engine,
			"arm":      l.Arm,
			"searches": l.Searches,
			"text":     l.Evidence,
			"named":    append([]report.Count{}, l.Named...),
			"rules":    append([]report.Count{}, l.Rules...),
		})
	}
	return out
}
