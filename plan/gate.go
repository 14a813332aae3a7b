package plan

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// A Gate is a limit on the load generator's own health: beyond Amber a run has a finding, beyond
// Red it is not valid, because the generator itself may have caused its results. The table of all
// gates is [DefaultGates].
type Gate struct {
	Name string // as in a plan
	What string // the reading
	// Unit is "ms", "%", "x" (a ratio) or "" (a count); Amber, Red and readings are in it.
	Unit       string
	Amber, Red float64
	// DuetRed replaces Red in a duet; 0 keeps Red.
	DuetRed float64
	// Floor means that the reading should stay above the limits; otherwise it should stay below.
	Floor bool
	// Source is the source of the limits.
	Source string
	Cause  Cause
	Over   Stretch
	Search SearchPart
	// TimesOnly means that a red gate spoils times, rates and capacity, and no counts of work.
	TimesOnly bool
	// Crowded means that programs of others on the generator's cores turn the gate red too.
	Crowded bool
	// UseOfCPU marks the readings of how busy the generator is. A run needs one of them.
	UseOfCPU bool
	// Detail and Without complete the reading in docs/validity.md: Without names the runs to which
	// it is not applicable.
	Detail, Without string
}

// A Cause is the party that made a run invalid.
type Cause string

// The causes of red gates.
const (
	// ByTarget: the server under test failed, refused, crashed or did not start.
	ByTarget    Cause = "target"
	ByGenerator Cause = "generator" // the load generator was too slow, or could not be watched
	// ByHost: other processes on the host took resources that the run needed.
	ByHost Cause = "host"
	// ByEither is the cause of gates that read the whole host of the generator. A target that runs
	// there too may have used the host up.
	ByEither Cause = "target or generator"
)

// A Stretch names the part of the measured phase that a gate is judged over.
type Stretch int

// The stretches. Each but WholePhase also counts the seconds beyond a limit.
const (
	// MeanOfPhase is the phase as a whole: a quantile of all actions, the mean of a share.
	MeanOfPhase Stretch = iota
	// WorstMoment is the worst moment of a resource that is used up.
	WorstMoment
	// SecondsAlone has no reading of the whole: one bad second would outweigh all others in a mean.
	SecondsAlone
	// WholePhase is the phase so far, because the reading needs a longer stretch than a second.
	WholePhase
)

// A SearchPart is the part that a gate has in the search for capacity.
type SearchPart int

// The parts. Only EndsSearch can end a search.
const (
	// EndsSearch is read each second. A gate that stays red ends the search with a lower bound.
	EndsSearch SearchPart = iota
	// HeldWindows is read over the windows in which the users stood still and every rule held.
	HeldWindows
	// EachSecond is read each second, and is amber at most.
	EachSecond
)

// GateOfPlan is the source of limits that the plan sets.
const GateOfPlan = "plan"

// Level returns "", "amber" or "red".
func (g Gate) Level(v float64) string {
	amber, red := v > g.Amber, v > g.Red
	if g.Floor {
		amber, red = v < g.Amber, v < g.Red
	}
	switch {
	case red:
		return "red"
	case amber:
		return "amber"
	}
	return ""
}

// Format returns a reading or limit with the gate's unit, in the form of a plan.
func (g Gate) Format(v float64) string {
	if g.Unit == "" {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.4g%s", v, g.Unit)
}

// A GateLimit replaces limits of one gate; nil keeps the default.
type GateLimit struct {
	Name       string
	Amber, Red *float64 // in the gate's unit
}

// Gates holds the limits that a plan changes, in the order of [DefaultGates].
type Gates []GateLimit

// All returns every gate with the limits that hold.
func (g Gates) All() []Gate {
	all := DefaultGates()
	for _, l := range g {
		i := slices.IndexFunc(all, func(x Gate) bool { return x.Name == l.Name })
		if i < 0 {
			continue // Parse lets no such name pass
		}
		if l.Amber != nil {
			all[i].Amber, all[i].Source = *l.Amber, GateOfPlan
		}
		if l.Red != nil {
			all[i].Red, all[i].Source = *l.Red, GateOfPlan
		}
	}
	return all
}

// Of returns a gate with the limits that hold; false for an unknown name.
func (g Gates) Of(name string) (Gate, bool) {
	for _, x := range g.All() {
		if x.Name == name {
			return x, true
		}
	}
	return Gate{}, false
}

// InDuet returns gates with the limits of a run in a duet. Others on the host, and the hypervisor,
// meet all runs of a block alike: they widen the intervals of differences and move none of them. A
// busy core is as often a neighbor's as the generator's; the gates cpu, sched and lag show whether
// the generator itself had to wait. The red limit of core is
// out of reach. Limits of the plan's own stay.
func InDuet(gates []Gate) []Gate {
	out := slices.Clone(gates)
	for i, g := range out {
		if g.DuetRed > 0 && g.Source != GateOfPlan {
			out[i].Red = g.DuetRed
		}
	}
	return out
}

func gateNames() []string {
	var names []string
	for _, g := range DefaultGates() {
		names = append(names, g.Name)
	}
	return names
}

// parse reads a limit with the gate's unit.
func (g Gate) parse(s string) (float64, error) {
	switch g.Unit {
	case "ms":
		d, err := parseDuration(s)
		return float64(d) / float64(time.Millisecond), err
	case "%":
		if _, err := parsePercent(s); err != nil {
			return 0, err
		}
		return strconv.ParseFloat(strings.TrimRight(strings.TrimSuffix(s, "%"), " "), 64)
	case "x":
		num, ok := strings.CutSuffix(s, "x")
		if !ok {
			return 0, refuse(s, "is not a ratio; want one such as 3x")
		}
		return parseNumber(num)
	}
	n, err := parseInt(s)
	return float64(n), err
}

// format is the inverse of parse.
func (g Gate) format(v float64) string {
	if g.Unit == "ms" {
		return FormatDuration(time.Duration(math.Round(v * float64(time.Millisecond))))
	}
	return formatNumber(v) + g.Unit
}

// decodeGates reads {lag: {amber: 5ms, red: 20ms}}.
func decodeGates(n node, to *Gates) {
	all := DefaultGates()
	given := map[string]GateLimit{}
	const want = "a mapping such as {lag: {amber: 5ms, red: 20ms}}"
	n.mapping(want, func(key string, k *yaml.Node, c node) {
		n.d.nodes[c.path] = c.Node
		i := slices.IndexFunc(all, func(x Gate) bool { return x.Name == key })
		if i < 0 {
			n.d.fail(k, c.path, "unknown gate; %sknown: %s",
				hint(key, gateNames()), strings.Join(gateNames(), ", "))
			return
		}
		l := GateLimit{Name: key}
		amber := all[i].format(all[i].Amber)
		want := fmt.Sprintf("a mapping such as {amber: %s, red: %s}",
			amber, all[i].format(all[i].Red))
		c.mapping(want, func(key string, k *yaml.Node, c node) {
			var v float64
			n.d.nodes[c.path] = c.Node
			switch key {
			case "amber":
				l.Amber = &v
			case "red":
				l.Red = &v
			default:
				n.d.fail(k, c.path, "unknown key; want amber or red")
				return
			}
			decodeScalar("a limit such as "+amber, all[i].parse)(c, &v)
		})
		given[key] = l
	})
	for _, x := range all {
		if l := given[x.Name]; l.Amber != nil || l.Red != nil {
			*to = append(*to, l)
		}
	}
}

// gates is the type of the limits of gates.
var gates = custom(decodeGates, encodeGates, gateSchema)

// check notes limits in the wrong order.
func (g Gates) check(d *decoder) {
	for _, x := range g.All() {
		path := "gates." + x.Name
		if !d.given(path) || !d.good(path) {
			continue
		}
		if !x.Floor && x.Amber > x.Red || x.Floor && x.Amber < x.Red {
			d.at(
				path,
				"amber %s lies beyond red %s; a gate turns amber first",
				x.format(x.Amber),
				x.format(x.Red),
			)
		}
	}
}

// encodeGates writes the form that decodeGates reads.
func encodeGates(e *encoder, depth int, key string, g Gates) {
	if len(g) == 0 {
		return
	}
	all := DefaultGates()
	e.line(depth, key, "")
	for _, l := range g {
		x := all[slices.IndexFunc(all, func(x Gate) bool { return x.Name == l.Name })]
		e.line(depth+1, l.Name, "")
		if l.Amber != nil {
			e.line(depth+2, "amber", x.format(*l.Amber))
		}
		if l.Red != nil {
			e.line(depth+2, "red", x.format(*l.Red))
		}
	}
}

// gateSchema returns the schema of the key gates.
func gateSchema(valueType) object {
	props := object{}
	for _, x := range DefaultGates() {
		limit := func(word string, v float64) object {
			s := object{
				"type":        "string",
				"description": "Beyond this the gate is " + word + ".",
				"default":     x.format(v),
			}
			switch x.Unit {
			case "ms":
				s["pattern"] = durationPattern
			case "%":
				s["pattern"] = percentPattern
			case "x":
				s["pattern"] = `^[0-9]+(\.[0-9]+)?x$`
			default:
				s["type"], s["default"] = "integer", int(v)
			}
			return s
		}
		what := strings.ToUpper(x.What[:1]) + x.What[1:] + "."
		props[x.Name] = object{"type": "object", "additionalProperties": false, "description": what,
			"properties": object{"amber": limit("amber", x.Amber), "red": limit("red", x.Red)}}
	}
	return object{"type": "object", "additionalProperties": false, "properties": props}
}
