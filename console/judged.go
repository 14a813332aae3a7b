package console

import (
	"encoding/json"
	"math"
	"strings"
	"time"

	"plimsoll/judge/verdict"
	"plimsoll/report"
	"plimsoll/run/record"
)

// mostReports bounds the comparisons whose verdicts, and the runs whose limiters, are kept.
const mostReports = 300

// A reported comparison is its verdicts and limiters, as the member outcome of comparison.json has them. Values are in the endpoint's unit; effects, intervals
// and margins are fractions of the base, or in that unit where the endpoint is absolute.
type reported struct {
	Indicative bool `json:"indicative"`
	State      struct {
		Cost      int           `json:"blocks_judged_by_cost"`
		BlockTime time.Duration `json:"block_time"`
	} `json:"state"`
	Verdicts []struct {
		Engine  string `json:"engine"`
		Arm     string `json:"arm"`
		Verdict struct {
			Kind    string           `json:"kind"`
			Lead    string           `json:"lead"`
			Results []reportedResult `json:"results"`
		} `json:"verdict"`
	} `json:"verdicts"`
	Limiters []struct {
		Engine   string         `json:"engine"`
		Arm      string         `json:"arm"`
		Searches int            `json:"searches"`
		Named    []report.Count `json:"named"`
		Rules    []report.Count `json:"rules"`
		Evidence string         `json:"evidence"`
	} `json:"limiters"`
}

type reportedResult struct {
	Endpoint struct {
		Name     string  `json:"name"`
		Unit     string  `json:"unit"`
		Better   string  `json:"better"`
		Margin   float64 `json:"margin"`
		Absolute bool    `json:"absolute"`
	} `json:"endpoint"`
	Kind  string  `json:"kind"`
	N     int     `json:"n"`
	Alpha float64 `json:"alpha"`
	Pairs []struct {
		Block        int     `json:"block"`
		Base         float64 `json:"base"`
		New          float64 `json:"new"`
		BaseCensored bool    `json:"base_censored"`
		NewCensored  bool    `json:"new_censored"`
	} `json:"pairs"`
	Effect   *float64 `json:"effect"`
	Lo       *float64 `json:"lo"`
	Hi       *float64 `json:"hi"`
	Lo90     *float64 `json:"lo90"`
	Hi90     *float64 `json:"hi90"`
	MDE      float64  `json:"mde"`
	Needed   int      `json:"pairs_needed"`
	Sentence string   `json:"sentence"`
}

// concluded returns the stored outcome of a comparison; false if it was not judged yet. A report beside it is for people:
// nothing would show that it was changed.
func concluded(c *record.Comparison) (r reported, ok bool) {
	err := json.Unmarshal(c.Outcome, &r)
	return r, err == nil && len(r.Verdicts) > 0 && c.State != record.Running
}

// decisive returns the interval that decided the result, and its level; see [verdict.Result.Decisive].
func (r reportedResult) decisive() (lo, hi *float64, level float64) {
	if r.Kind == string(verdict.Same) && r.Lo90 != nil && r.Hi90 != nil {
		return r.Lo90, r.Hi90, 1 - 2*r.Alpha
	}
	return r.Lo, r.Hi, 1 - r.Alpha
}

// results returns the verdicts in one cell each.
func (r reported) results() string {
	var out []string
	for _, v := range r.Verdicts {
		out = append(out, strings.TrimSpace(v.Engine+" "+v.Arm+" "+v.Verdict.Kind))
	}
	return strings.Join(out, ", ")
}

// into adds endpoints, dots, differences and verdicts to the Judged of the contract. A bound instead of a
// number has no dot, and its pair no difference. The base has one dot a block and endpoint, whoever it was compared with.
func (r reported) into(out map[string]any) {
	type key struct{ endpoint, engine, arm string }
	endpoints, differences, verdicts := []any{}, []any{}, []any{}
	dots, values, seen := []key{}, map[key][][2]float64{}, map[string]bool{}
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
	for _, v := range r.Verdicts {
		verdicts = append(verdicts, map[string]any{"engine": v.Engine, "arm": v.Arm, "kind": v.Verdict.Kind,
			"text": strings.TrimPrefix(v.Verdict.Lead, v.Engine+": "), "indicative": r.Indicative})
		for _, e := range v.Verdict.Results {
			name := e.Endpoint.Name
			if !seen[name] {
				seen[name] = true
				test := "bounded"
				if name == "capacity" {
					test = "unbounded"
				}
				endpoints = append(endpoints, map[string]any{"name": name, "test": test, "unit": e.Endpoint.Unit,
					"better": e.Endpoint.Better, "primary": true})
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
				if !e.Endpoint.Absolute {
					by = p.New/p.Base - 1
				}
				if !p.BaseCensored && !p.NewCensored && !math.IsNaN(by) && !math.IsInf(by, 0) {
					pairs = append(pairs, [2]float64{float64(p.Block), by})
				}
			}
			d := map[string]any{"endpoint": name, "engine": v.Engine, "arm": v.Arm, "n": e.N, "pairs": pairs,
				"margin": e.Endpoint.Margin, "absolute": e.Endpoint.Absolute, "kind": e.Kind,
				"text": strings.TrimPrefix(e.Sentence, name+": "+e.Kind+": ")}
			lo, hi, level := e.decisive()
			for name, x := range map[string]*float64{"effect": e.Effect, "lo": lo, "hi": hi} {
				if x != nil {
					d[name] = *x
				}
			}
			if e.Alpha > 0 {
				d["level"] = level
			}
			if e.MDE > 0 {
				d["finds"] = e.MDE
			}
			if minutes := report.MinutesOf(e.Needed, r.State.BlockTime); minutes > 0 {
				d["needs"] = minutes
			}
			differences = append(differences, d)
		}
	}
	all := []any{}
	for _, k := range dots {
		all = append(all, map[string]any{"endpoint": k.endpoint, "engine": k.engine, "arm": k.arm, "values": values[k]})
	}
	if r.State.Cost > 0 {
		out["by_cost"] = r.State.Cost
	}
	out["endpoints"], out["dots"], out["differences"], out["verdicts"] = endpoints, all, differences, verdicts
	limiters := []any{}
	for _, l := range r.Limiters {
		limiters = append(limiters, map[string]any{"engine": l.Engine, "arm": l.Arm, "searches": l.Searches, "text": l.Evidence,
			"named": append([]report.Count{}, l.Named...), "rules": append([]report.Count{}, l.Rules...)})
	}
	if len(limiters) > 0 {
		out["limiters"] = limiters
	}
}
