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

// A Gate is a limit on the load generator's own health: beyond Amber a run has a finding, beyond Red it is not valid,
// because the generator itself may have caused its results.
type Gate struct {
	Name string // as in a plan
	What string // the reading
	// Unit is "ms", "%", "x" (a ratio) or "" (a count); Amber, Red and readings are in it.
	Unit       string
	Amber, Red float64
	// Floor means that the reading should stay above the limits; otherwise it should stay below.
	Floor bool
	// Search means that the gate also watches the search for capacity, which it ends with a lower
	// bound.
	Search bool
	// Source is the source of the limits.
	Source string
}

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
	switch g.Unit {
	case "ms":
		return fmt.Sprintf("%.4gms", v)
	case "%":
		return fmt.Sprintf("%.4g%%", v)
	}
	if g.Unit == "" {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.4g%s", v, g.Unit)
}

// DefaultGates returns the gates and their limits, in the order of reports. docs/validity.md explains them.
func DefaultGates() []Gate {
	return []Gate{
		{"lag", "p99 of how late actions began, or operations were sent", "ms", 5, 20, false, true, "survey of generators, 5.3"},
		{"late", "actions begun, or operations sent, more than 10 ms late", "%", 1, 5, false, true, "survey 5.3; red our own"},
		{"users", "active of the wanted users, at the worst moment", "%", 99, 97, true, false, "survey 5.3"},
		{"rate", "arrivals begun of those that the schedule wanted", "%", 99, 97, true, false, "survey 5.3"},
		{"shares", "points between a server's part of the requests and its part of the users, of the worst server; what chance explains is taken off", "%", 2, 5, false, true, "own"},
		{"cpu", "this process' share of the cores it may use", "%", 70, 85, false, true, "survey 5.3: k6 80 %, Hyperfoil 80 %, Locust 90 %"},
		{"core", "the busiest of the generator's cores, whoever uses it", "%", 70, 85, false, true, "survey 5.3"},
		{"sched", "p99 of how long runnable goroutines waited for a thread", "ms", 2, 10, false, true, "survey 5.3"},
		{"pause", "longest stop of all goroutines in a second, mean over the seconds", "ms", 2, 10, false, false, "survey 5.3"},
		{"gc", "CPU time of the garbage collector, of all CPU time this process could have, over 10 s", "%", 10, 20, false, true, "survey 5.3"},
		{"steal", "time that the hypervisor took from the generator's cores", "%", 1, 3, false, true, "survey 5.3"},
		{"target_steal", "time that the hypervisor took from the target's cores, over 10 s", "%", 2, 5, false, true, "own"},
		{"others", "CPU of the target's cores that went neither to the target nor idle nor to the hypervisor", "%", 15, 30, false, true, "own"},
		{"throttled", "time in which a CPU quota held this process back", "%", 1, 3, false, true, "survey 5.3"},
		{"wait", "waits for a connection of 1 ms or more, of all response time", "%", 1, 5, false, false, "survey 5.3"},
		{"inbox", "p99 of how long WebSocket events lay in the kernel before they were read", "ms", 50, 500, false, true, "survey 5.3; red our own: this client drops none"},
		{"fds", "open files, of the limit", "%", 70, 90, false, true, "survey 5.3"},
		{"fds_free", "open files that are left beyond the most that were opened in a second", "", 200, 20, true, true, "own"},
		{"ports", "ephemeral ports in use or in TIME_WAIT, of the range", "%", 70, 90, false, true, "survey 5.3"},
		{"drops", "packets and TCP segments that this host threw away, of the segments that it received, over 10 s", "%", 0.1, 0.5, false, true, "survey 5.3 has any; limits our own"},
		{"memory", "memory of this host that is not available", "%", 70, 90, false, true, "survey 5.3"},
		{"bursts", "most actions begun in 100 ms, of the mean; what chance explains is taken off", "x", 3, 10, false, false, "survey 5.3"},
		{"little", "user-seconds that think and action times do not account for (Little's law)", "%", 3, 10, false, false, "survey 5.3"},
		{"clock", "offset between the clocks of agents and coordinator", "ms", 50, 500, false, true, "survey 5.3"},
		{"headroom", "rest of the users, or operations a second, that this host was calibrated to drive", "%", 40, 20, true, true, "survey 5.3"},
	}
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
			return 0, fmt.Errorf("%s is not a ratio; want one such as 3x", clip(s))
		}
		return parseNumber(num)
	}
	n, err := parseInt(s)
	return float64(n), err
}

// format is the inverse of parse.
func (g Gate) format(v float64) string {
	switch g.Unit {
	case "ms":
		return formatDuration(time.Duration(math.Round(v * float64(time.Millisecond))))
	}
	return formatNumber(v) + g.Unit
}

// decode reads {lag: {amber: 5ms, red: 20ms}}.
func (g *Gates) decode(d *decoder, path string, n *yaml.Node) {
	all := DefaultGates()
	given := map[string]GateLimit{}
	d.mapping(path, n, "a mapping such as {lag: {amber: 5ms, red: 20ms}}", func(key string, k, c *yaml.Node) {
		at := join(path, key)
		d.nodes[at] = c
		i := slices.IndexFunc(all, func(x Gate) bool { return x.Name == key })
		if i < 0 {
			d.fail(k, at, "unknown gate; %sknown: %s", hint(key, gateNames()), strings.Join(gateNames(), ", "))
			return
		}
		l := GateLimit{Name: key}
		d.mapping(at, c, "a mapping such as {amber: "+all[i].format(all[i].Amber)+", red: "+all[i].format(all[i].Red)+"}", func(key string, k, c *yaml.Node) {
			var v float64
			at := join(at, key)
			d.nodes[at] = c
			switch key {
			case "amber":
				l.Amber = &v
			case "red":
				l.Red = &v
			default:
				d.fail(k, at, "unknown key; want amber or red")
				return
			}
			decodeScalar("a limit such as "+all[i].format(all[i].Amber), all[i].parse)(d, at, c, &v)
		})
		given[key] = l
	})
	for _, x := range all {
		if l, ok := given[x.Name]; ok && (l.Amber != nil || l.Red != nil) {
			*g = append(*g, l)
		}
	}
}

// gates is the type of the limits of gates.
var gates = custom(
	func(d *decoder, path string, n *yaml.Node, to *Gates) { to.decode(d, path, n) },
	func(e *encoder, depth int, key string, g Gates) { g.encode(e, depth, key) },
	func(valueType) object { return gateSchema() })

// check notes limits in the wrong order.
func (g Gates) check(d *decoder) {
	for _, x := range g.All() {
		path := "gates." + x.Name
		if !d.given(path) || !d.good(path) {
			continue
		}
		if !x.Floor && x.Amber > x.Red || x.Floor && x.Amber < x.Red {
			d.at(path, "amber %s lies beyond red %s; a gate turns amber first", x.format(x.Amber), x.format(x.Red))
		}
	}
}

// encode writes the form that decode reads.
func (g Gates) encode(e *encoder, depth int, key string) {
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
func gateSchema() object {
	props := object{}
	for _, x := range DefaultGates() {
		limit := func(word string, v float64) object {
			s := object{"type": "string", "description": "Beyond this the gate is " + word + ".", "default": x.format(v)}
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
