package script

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/plan"
)

// A Shape is what the options of a script say about its load, in the terms of a plan.
type Shape struct {
	// Users is the number of users; 0 if the options leave it to the plan.
	Users int
	// Ramp is the time from the first user to the last, and Measure the time with all of them.
	Ramp, Measure time.Duration
	// Rate is the number of iterations that arrive in a second; 0 without an executor of arrivals,
	// of which InFlight may be under way.
	Rate     plan.Rate
	InFlight int
	// Iterations is the number after which a user ends, at the latest at the end of Measure; 0 for
	// any number.
	Iterations int
	// Rules are the thresholds.
	Rules []RuleAt
	// Notes are the options that mean something else here, or nothing.
	Notes []plan.Refusal

	from string // the option that sets the load, for errors
}

// A RuleAt is a threshold of the options as a rule.
type RuleAt struct {
	SLO plan.SLO
	// Path is its option, as in `options.thresholds.http_req_duration[0]`.
	Path string
}

// Plan returns what a script's options say, read from their JSON, and everything in them that cannot
// be carried out. Its paths begin with "options".
func Plan(options json.RawMessage) (Shape, []plan.Refusal) {
	r := &reader{}
	if len(options) == 0 || string(options) == "null" {
		return r.shape, nil
	}
	all, ok := r.object("options", options)
	if ok {
		r.options(all)
	}
	slices.SortStableFunc(r.wrong, func(a, b plan.Refusal) int { return strings.Compare(a.Path, b.Path) })
	return r.shape, r.wrong
}

// A reader reads options.
type reader struct {
	shape Shape
	refusals
}

// refusals are what cannot be carried out.
type refusals struct{ wrong []plan.Refusal }

func (r *refusals) refuse(path, format string, args ...any) {
	r.wrong = append(r.wrong, plan.Refusal{Path: path, Text: fmt.Sprintf(format, args...)})
}

func (r *reader) note(path, text string) {
	r.shape.Notes = append(r.shape.Notes, plan.Refusal{Path: path, Text: text})
}

// meaningless are the options of k6 that change nothing here, with the reason.
var meaningless = map[string]string{
	"systemTags": "", "summaryTrendStats": "", "summaryTimeUnit": "", "noUsageReport": "", "ext": "",
	"cloud": "", "consoleOutput": "", "noSummary": "", "summaryExport": "",
	"tags":                  "the plan's name and note describe a run",
	"batch":                 "the requests of http.batch follow each other",
	"batchPerHost":          "the requests of http.batch follow each other",
	"setupTimeout":          "setup has the time of the preparation of a run",
	"teardownTimeout":       "teardown has the time of the end of a run",
	"blockHostnames":        "only the target is reached",
	"blacklistIPs":          "only the target is reached",
	"gracefulStop":          "users end with the measured phase",
	"gracefulRampDown":      "users end with the measured phase",
	"insecureSkipTLSVerify": "the plan's target says what certificate is accepted",
}

// unsupported are the options of k6 that cannot be carried out, with the remedy.
var unsupported = map[string]string{
	"rps":                      "write workload: {arrival: {rate: N/s}} in the plan, or sleep() in the script",
	"hosts":                    "name the address as the target's URL",
	"dns":                      "name the address as the target's URL",
	"localIPs":                 "put users on several hosts with agents (docs/agents.md)",
	"tlsAuth":                  "client certificates are not sent here",
	"tlsCipherSuites":          "the generator's own choice is used; remove it",
	"tlsVersion":               "the generator's own choice is used; remove it",
	"throw":                    "failures of load are answers with status 0; throw in the script on res.error",
	"noConnectionReuse":        "each user keeps its connections; send the header Connection: close",
	"noVUConnectionReuse":      "each user keeps its connections; send the header Connection: close",
	"minIterationDuration":     "end the iteration with sleep()",
	"httpDebug":                "print what is needed with console.log",
	"paused":                   "a run begins when it is ready; remove it",
	"executionSegment":         "agents share the users by themselves (docs/agents.md); remove it",
	"executionSegmentSequence": "agents share the users by themselves (docs/agents.md); remove it",
}

// loads are the options that set the load, and own those that the runtime reads.
var (
	loads = []string{"vus", "duration", "iterations", "stages", "scenarios"}
	own   = []string{"userAgent", "maxRedirects", "discardResponseBodies", "noCookiesReset"}
)

func (r *reader) options(all map[string]json.RawMessage) {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		path := "options." + key
		reason, nothing := meaningless[key]
		switch {
		case string(all[key]) == "null", slices.Contains(own, key):
		case nothing && reason == "":
		case nothing:
			r.note(path, reason)
		case unsupported[key] != "":
			r.refuse(path, "has no meaning here; %s", unsupported[key])
		case key == "thresholds":
			r.thresholds(path, all[key])
		case !slices.Contains(loads, key):
			near := plan.Nearest(key, slices.Concat(loads, own, []string{"thresholds"}))
			if near != "" {
				near += " "
			}
			r.refuse(path, "is no option of k6; %sremove it", near)
		}
	}
	_, scenarios := all["scenarios"]
	for _, key := range loads {
		if _, ok := all[key]; ok && scenarios && key != "scenarios" {
			r.refuse("options."+key, "stands beside options.scenarios; keep one of them")
		}
	}
	if scenarios {
		r.scenarios(all["scenarios"])
		return
	}
	s := scenario{r, "options", all}
	switch {
	case all["stages"] != nil && all["iterations"] != nil:
		r.refuse("options.iterations", "stands beside options.stages; keep one of them")
	case all["stages"] != nil:
		s.stages("vus", 1)
	case all["iterations"] != nil:
		s.shared("duration")
	case all["vus"] != nil || all["duration"] != nil:
		s.constant()
	}
}

// scenarios reads the one scenario that a plan can carry out.
func (r *reader) scenarios(text json.RawMessage) {
	const path = "options.scenarios"
	all, ok := r.object(path, text)
	if !ok {
		return
	}
	names := slices.Sorted(maps.Keys(all))
	if len(names) != 1 {
		r.refuse(path, "has %d scenarios (%s), and a plan has one load; write a plan for each, or one "+
			"scenario with `export const actions = {NAME: {weight: 10, run(user, data) {…}}}`",
			len(names), strings.Join(names, ", "))
		for _, name := range names { // what else is wrong in them
			r.scenario(path+"."+name, all[name])
		}
		return
	}
	r.scenario(path+"."+names[0], all[names[0]])
}

func (r *reader) scenario(path string, text json.RawMessage) {
	all, ok := r.object(path, text)
	if !ok {
		return
	}
	s := scenario{r, path, all}
	executor, exec := "", "default"
	s.read("executor", &executor, "the name of an executor")
	s.read("exec", &exec, "the name of a function")
	if exec != "default" {
		s.bad("exec", "%s is not the function that users run; write export default %s", exec, exec)
	}
	switch executor {
	case "constant-vus":
		s.constant()
	case "ramping-vus":
		s.stages("startVUs", 1)
	case "constant-arrival-rate":
		s.arrival()
	case "per-vu-iterations":
		s.each()
	case "shared-iterations":
		s.shared("maxDuration")
	case "ramping-arrival-rate":
		s.bad("executor", "a plan has one rate of arrivals; use constant-arrival-rate, or search the "+
			"highest rate with plimsoll capacity")
	case "externally-controlled":
		s.bad("executor", "users are steered in the console (plimsoll serve); use constant-vus")
	case "":
		s.bad("executor", "is missing; write constant-vus, ramping-vus or constant-arrival-rate")
	default:
		s.bad("executor", "%q is no executor; want constant-vus, ramping-vus, constant-arrival-rate, "+
			"per-vu-iterations or shared-iterations", executor)
	}
	for _, key := range []string{"env", "options"} {
		if all[key] != nil {
			s.bad(key, "is not read for one scenario; write workload.params in the plan")
		}
	}
	var start time.Duration
	if s.time("startTime", &start); start > 0 {
		r.note(path+".startTime", "the load begins with the run")
	}
}

// A scenario reads the keys of one load.
type scenario struct {
	*reader
	path string
	keys map[string]json.RawMessage
}

// bad refuses a key.
func (s scenario) bad(key, format string, args ...any) {
	s.refuse(s.path+"."+key, format, args...)
}

// constant reads a number of users for a time.
func (s scenario) constant() {
	users, measure := 1, time.Duration(0)
	s.count("vus", &users)
	if s.keys["duration"] == nil && s.path != "options" {
		s.bad("duration", "is missing; write how long, as in 30s")
	}
	s.time("duration", &measure)
	s.load(users, 0, measure)
}

// load sets the shape.
func (s scenario) load(users int, ramp, measure time.Duration) {
	s.shape.Users, s.shape.Ramp, s.shape.Measure, s.shape.from = users, ramp, measure, s.path
}

// each reads users that end after a number of iterations.
func (s scenario) each() {
	users, iterations, most := s.iterations("maxDuration")
	s.load(users, 0, most)
	s.shape.Iterations = iterations
}

// shared reads iterations that users share, which each has an equal part of here.
func (s scenario) shared(limit string) {
	users, iterations, most := s.iterations(limit)
	if users > 0 && iterations%users != 0 {
		s.bad("iterations", "%d iterations are not the same number for each of %d users; write a "+
			"multiple of it, or a duration", iterations, users)
		return
	}
	s.load(users, 0, most)
	s.shape.Iterations = iterations / max(users, 1)
	s.note(s.path+".iterations", "each user does an equal part of them")
}

// iterations reads users, a number of iterations and the time that they have at most.
func (s scenario) iterations(limit string) (users, n int, most time.Duration) {
	users, n, most = 1, 1, 10*time.Minute
	s.count("vus", &users)
	s.count("iterations", &n)
	s.time(limit, &most)
	return users, n, most
}

// arrival reads iterations that come by a schedule.
func (s scenario) arrival() {
	rate, users, most, unit, measure := 0.0, 0, 0, time.Second, time.Duration(0)
	s.read("rate", &rate, "a number")
	s.time("timeUnit", &unit)
	s.time("duration", &measure)
	s.count("preAllocatedVUs", &users)
	s.count("maxVUs", &most)
	switch {
	case rate <= 0 || unit <= 0:
		s.bad("rate", "is no rate; want more than 0 in timeUnit")
		return
	case measure == 0:
		s.bad("duration", "is missing; write how long, as in 30s")
		return
	}
	s.load(0, 0, measure)
	s.shape.Rate, s.shape.InFlight = plan.Rate(rate/unit.Seconds()), max(users, most)
}

// stages reads a ramp, one plateau and the way down, which is left out: users end together.
func (s scenario) stages(start string, now int) {
	var stages []struct {
		Duration json.RawMessage `json:"duration"`
		Target   int             `json:"target"`
	}
	s.count(start, &now)
	path := s.path + ".stages"
	if !s.read("stages", &stages, "a list such as [{duration: '30s', target: 10}]") {
		return
	}
	var ramp, measure time.Duration
	users, down := now, false
	for i, stage := range stages {
		at := fmt.Sprintf("%s[%d]", path, i)
		d, err := duration(stage.Duration)
		switch {
		case err != nil:
			s.refuse(at+".duration", "%v", err)
			return
		case stage.Target < now:
			down = true
			if measure == 0 && users > 0 && d > 0 && ramp > 0 {
				s.refuse(path, "hold no number of users; write a stage with the same target as the one before it")
				return
			}
		case (stage.Target > now && (measure > 0 || down)) || (stage.Target == now && down && now > 0 && d > 0):
			s.refuse(at, "%d users are a second plateau, and a plan has one; search the number with plimsoll "+
				"capacity, or load in steps with plimsoll sizing", stage.Target)
			return
		case stage.Target > now:
			ramp += d
		case !down:
			measure += d
		}
		if !down {
			users = max(users, stage.Target)
		}
		now = stage.Target
	}
	switch {
	case users == 0 || measure == 0:
		s.refuse(path, "hold no number of users; write a stage with the same target as the one before it")
		return
	case down:
		s.note(path, "the way down is left out: users end together")
	}
	s.load(users, ramp, measure)
}

// read reads a key; without one it changes nothing and returns false.
func (s scenario) read(key string, to any, want string) bool {
	text := s.keys[key]
	if text == nil || string(text) == "null" {
		return false
	}
	if json.Unmarshal(text, to) != nil {
		s.bad(key, "%s is not %s", cut(text), want)
		return false
	}
	return true
}

// count reads a number of users or iterations.
func (s scenario) count(key string, to *int) {
	n := *to
	if s.read(key, &n, "a whole number") {
		if n < 0 || n > plan.MaxUsers {
			s.bad(key, "%d is out of range; want 0 to %d", n, plan.MaxUsers)
			return
		}
		*to = n
	}
}

// time reads a duration.
func (s scenario) time(key string, to *time.Duration) {
	if text := s.keys[key]; text != nil && string(text) != "null" {
		d, err := duration(text)
		if err != nil {
			s.bad(key, "%v", err)
			return
		}
		*to = d
	}
}

// duration reads a time of k6: text such as 1m30s, or a number of milliseconds.
func duration(text json.RawMessage) (time.Duration, error) {
	var s string
	var ms float64
	switch {
	case json.Unmarshal(text, &ms) == nil:
		s = strconv.FormatFloat(ms, 'f', -1, 64) + "ms"
	case json.Unmarshal(text, &s) != nil:
		return 0, fmt.Errorf("%s is not a time; want one such as 30s", cut(text))
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		s += "ms" // as k6 reads a number in quotes
	}
	days, rest, ok := strings.Cut(s, "d")
	n := 0
	if ok {
		var err error
		if n, err = strconv.Atoi(days); err != nil || n < 0 || n > 7 {
			return 0, fmt.Errorf("%s is not a time of at most 7 days", cut(text))
		}
		s = rest
	}
	d, err := time.ParseDuration(s)
	if err != nil && !(ok && s == "") {
		return 0, fmt.Errorf("%s is not a time; want one such as 30s", cut(text))
	}
	if d += time.Duration(n) * 24 * time.Hour; d < 0 || d > plan.MaxTime {
		return 0, fmt.Errorf("%s is out of range; want 0s to 168h", cut(text))
	}
	return d, nil
}

// object reads a mapping.
func (r *reader) object(path string, text json.RawMessage) (map[string]json.RawMessage, bool) {
	var all map[string]json.RawMessage
	if json.Unmarshal(text, &all) != nil || all == nil {
		r.refuse(path, "%s is not an object", cut(text))
		return nil, false
	}
	return all, true
}

// cut is a value for an error.
func cut(text []byte) string {
	if len(text) > 60 {
		return strings.ToValidUTF8(string(text[:60]), "") + "…"
	}
	return string(text)
}
