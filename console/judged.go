package console

import (
	"encoding/json"
	"strings"

	"plimsoll/evidence"
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
	type key struct{ endpoint, engine, arm string }
	endpoints := []any{}
	differences := []any{}
	verdicts := []any{}
	dots := []key{}
	values := map[key][][2]float64{}
	seen := map[string]bool{}
	dot := func(k key, block int, v float64) {
		if _, there := values[k]; !there {
			dots = append(dots, k)
		}
		for _, old := range values[k] {
			if old[0] == float64(block) {
				return
			}
		}
		values[k] = append(values[k], [2]float64{float64(block), v})
	}
	for _, v := range o.Verdicts {
		verdicts = append(verdicts, map[string]any{
			"engine":     v.Engine,
			"arm":        v.Arm,
			"kind":       v.Verdict.Kind,
			"text":       strings.TrimPrefix(v.Verdict.Lead, v.Engine+": "),
			"indicative": o.Indicative,
		})
		for _, e := range v.Verdict.Results {
			name := e.Name
			if !seen[name] {
				seen[name] = true
				test := "bounded"
				if name == "capacity" {
					test = "unbounded"
				}
				endpoints = append(endpoints, map[string]any{
					"name":    name,
					"test":    test,
					"unit":    e.Unit,
					"better":  e.Better,
					"primary": true,
				})
			}
			pairs := [][2]float64{}
			for _, p := range e.Pairs {
				if !p.BaseCensored {
					dot(key{name, v.Engine, "base"}, p.Block, p.Base)
				}
				if !p.NewCensored {
					dot(key{name, v.Engine, v.Arm}, p.Block, p.New)
				}
				by := p.New - p.Base
				if !e.Absolute {
					by = p.New/p.Base - 1
				}
				if !p.BaseCensored && !p.NewCensored && report.Number(by).Known() {
					pairs = append(pairs, [2]float64{float64(p.Block), by})
				}
			}
			d := map[string]any{
				"endpoint": name,
				"engine":   v.Engine,
				"arm":      v.Arm,
				"n":        e.N,
				"pairs":    pairs,
				"margin":   e.Margin,
				"absolute": e.Absolute,
				"kind":     e.Kind,
				"text":     strings.TrimPrefix(e.Sentence, name+": "+string(e.Kind)+": "),
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
			differences = append(differences, d)
		}
	}
	all := []any{}
	for _, k := range dots {
		all = append(all, map[string]any{
			"endpoint": k.endpoint,
			"engine":   k.engine,
			"arm":      k.arm,
			"values":   values[k],
		})
	}
	out["endpoints"] = endpoints
	out["dots"] = all
	out["differences"] = differences
	out["verdicts"] = verdicts
	limiters := []any{}
	for _, l := range o.Limiters {
		limiters = append(limiters, map[string]any{
			"engine":   l.Engine,
			"arm":      l.Arm,
			"searches": l.Searches,
			"text":     l.Evidence,
			"named":    append([]report.Count{}, l.Named...),
			"rules":    append([]report.Count{}, l.Rules...),
		})
	}
	if len(limiters) > 0 {
		out["limiters"] = limiters
	}
}
