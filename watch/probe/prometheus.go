package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/watch/series"
)

// PrometheusInstance ends the instance of the sums that a [Prometheus] adds, after the role and a
// dash.
const PrometheusInstance = "prometheus"

const (
	// mostAnswered limits the series in an answer of a Prometheus server.
	mostAnswered = 50_000
	// oldest is the age at which a sample is stale: instant queries do not see it any more.
	oldest = series.Lookback
	// longestEvery is the longest interval of scrapes: a sample is stored up to two seconds after
	// its scrape, and the one before must last until then.
	longestEvery = series.Lookback - 2*time.Second
	// latest is the age beyond which the scrape that a first call finds is not stored: as a sample
	// of now, it would have the growth until the next scrape in too short a time.
	latest = 2 * time.Second
	// steady is the longest time between two calls that shows the interval of the scrapes.
	steady = 3 * time.Second
)

// PrometheusConfig configures a [Prometheus].
type PrometheusConfig struct {
	// base address of the HTTP API; user and password are sent and appear in no name and no error
	URL string
	// Role is the label role of all series. Selector holds the label matchers that select them,
	// without braces.
	Role, Selector string
	// Prefixes and Names select the metrics: those whose name begins so, and those of that name.
	Prefixes, Names []string
}

// Prometheus is a source that another Prometheus server has scraped: the newest samples of the
// hosts of a role, under their own names, with the label role. The server's label role, if there is
// one, is exported_role. A sample is given once, at the first call after the server has it; a call
// without a new scrape asks one small question. Not given are those of scrapes that are older than
// two seconds at the first call, or after a longer time without calls. With node_exporter's
// node_cpu_seconds_total there are also
//
//	plimsoll_agent_cpu_seconds_total       time of all cores of the role's hosts, of all modes
//	plimsoll_agent_cpu_busy_seconds_total  of that, all but idle and iowait
//
// with the instance ROLE-prometheus, at every call: the values of the last scrapes. A target that
// the server cannot scrape, no target at all, scrapes more than eight seconds apart, samples that
// are older than two and a half intervals of the scrapes and two seconds, or than
// [series.Lookback], an answer that is not complete, too large or holds a series twice are errors.
// Values that are not numbers are absent, and so is what exporters have about their own processes.
type Prometheus struct {
	*page
	base   string
	conf   PrometheusConfig
	metric string                   // the expression that selects the samples
	seen   map[target]float64       // the last scrape of each target, in seconds
	every  map[target]time.Duration // the shortest time between two of its scrapes, if it was seen
	late   map[target]bool          // whose scrape is too old to be stored as one of now
	// the server's time at the last call, in seconds; 0 before the first
	asked float64
	out   series.Samples
	keys  map[string]bool
	own   []series.Label
	cpu   [2]float64 // all, busy
}

// target is a source that the server scrapes.
type target struct{ job, instance string }

func (t target) String() string { return t.instance + " of the job " + t.job }

// NewPrometheus makes the probe; it connects at the first sample.
func NewPrometheus(c PrometheusConfig) (*Prometheus, error) {
	p, u, err := newPage("prometheus", c.URL)
	if err != nil {
		return nil, err
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("prometheus URL with a query; want http://HOST:PORT")
	}
	p.accept = "application/json"
	var names []string
	for _, x := range c.Prefixes {
		names = append(names, x+".+")
	}
	names = append(names, c.Names...)
	if len(names) == 0 {
		return nil, errors.New("prometheus: no metric is asked for")
	}
	return &Prometheus{
		page: p, base: strings.TrimRight(c.URL, "/") + "/api/v1/query", conf: c,
		metric: fmt.Sprintf("{__name__=~%q,%s}", strings.Join(names, "|"), c.Selector),
		seen:   map[target]float64{}, every: map[target]time.Duration{}, late: map[target]bool{},
		own: Labels("instance", c.Role+"-"+PrometheusInstance, "role", c.Role),
	}, nil
}

// Exporters have series about other things, with these prefixes, and about their own process.
var (
	exporterPrefixes = []string{"node_", "container_", "nginx_", "mysql_", "pg_"}
	processPrefixes  = []string{"go_", "process_"}
)

func hasPrefix(name string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(x string) bool { return strings.HasPrefix(name, x) })
}

// answered is one series of an answer: its labels, and the time of the evaluation and the value.
type answered struct {
	Metric map[string]string `json:"metric"`
	Value  [2]any            `json:"value"`
}

func (a answered) target() target { return target{a.Metric["job"], a.Metric["instance"]} }

// number returns the time of the evaluation in seconds and the value.
func (a answered) number() (at, v float64, err error) {
	at, ok := a.Value[0].(float64)
	text, isText := a.Value[1].(string)
	v, err = strconv.ParseFloat(text, 64)
	if !ok || !isText || err != nil {
		return 0, 0, errors.New("the server's answer has a value that is no number")
	}
	return at, v, nil
}

// ask evaluates an expression.
func (p *Prometheus) ask(ctx context.Context, expr string) ([]answered, error) {
	form := url.Values{"query": {expr}}
	if deadline, ok := ctx.Deadline(); ok {
		form.Set("timeout", fmt.Sprintf("%dms", max(1, time.Until(deadline).Milliseconds())))
	}
	p.page.url = p.base + "?" + form.Encode()
	body, _, err := p.fetch(ctx)
	if err != nil {
		return nil, fmt.Errorf("the Prometheus server: %w", err)
	}
	var a struct {
		Status, Error string
		Data          struct {
			ResultType string `json:"resultType"`
			Result     []answered
		}
	}
	switch err := json.Unmarshal(body, &a); {
	case err != nil:
		return nil, errors.New(
			"the answer is not that of a Prometheus server; is the address its base address?",
		)
	case a.Status != "success":
		return nil, fmt.Errorf("the Prometheus server refuses the query: %.200q", a.Error)
	case a.Data.ResultType != "vector":
		return nil, errors.New(
			"the answer is not a vector; is the address that of a Prometheus server?",
		)
	case len(a.Data.Result) > mostAnswered:
		return nil, fmt.Errorf(
			"the selector of role %s has %d series, want at most %d: select fewer hosts",
			p.conf.Role,
			len(a.Data.Result),
			mostAnswered,
		)
	}
	return a.Data.Result, nil
}

// Sample implements Probe.
func (p *Prometheus) Sample(ctx context.Context, _ time.Time) ([]series.Sample, error) {
	p.out = p.out[:0]
	fresh, err := p.scraped(ctx)
	if err != nil {
		return nil, err
	}
	if len(fresh) > 0 {
		if err := p.read(ctx, fresh); err != nil {
			return nil, err
		}
		maps.Copy(p.seen, fresh)
	}
	if p.cpu[0] > 0 {
		p.out.Add("plimsoll_agent_cpu_seconds_total", p.own, p.cpu[0])
		p.out.Add("plimsoll_agent_cpu_busy_seconds_total", p.own, p.cpu[1])
	}
	return p.out, nil
}

// scraped returns the targets of the role that were scraped since the last call, with the times.
func (p *Prometheus) scraped(ctx context.Context) (fresh map[target]float64, err error) {
	// The product is negative where up is 0.
	all, err := p.ask(
		ctx,
		fmt.Sprintf("timestamp(up{%[1]s}) * (2 * up{%[1]s} - 1)", p.conf.Selector),
	)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf(
			"the selector of role %s fits no target of the Prometheus server: no series up{%s}",
			p.conf.Role,
			p.conf.Selector,
		)
	}
	fresh = map[target]float64{}
	here := map[target]bool{}
	last := p.asked
	clear(p.late)
	for _, a := range all {
		of := a.target()
		now, at, err := a.number()
		switch {
		case err != nil:
			return nil, err
		case here[of]:
			return nil, fmt.Errorf(
				"the Prometheus server has two series up of the job %q and the instance %q: "+
					"add a label to the selector of role %s",
				of.job,
				of.instance,
				p.conf.Role,
			)
		case at < 0:
			return nil, fmt.Errorf("the Prometheus server cannot scrape %s (up is 0)", of)
		}
		here[of], p.asked = true, now
		if p.follow(of, at, now, last) {
			fresh[of] = at
		}
		if err := p.checkAge(of, at, now); err != nil {
			return nil, err
		}
	}
	for of := range p.seen {
		if !here[of] {
			return nil, fmt.Errorf("%s is no target of the Prometheus server any more", of)
		}
	}
	return fresh, nil
}

// follow notes the interval between the scrapes of a target and reports whether the newest, at the
// time at, is new. The server's time is now; at the last call it was last. Times are in seconds.
func (p *Prometheus) follow(of target, at, now, last float64) (fresh bool) {
	before, known := p.seen[of]
	if known && at > before && now-last <= steady.Seconds() {
		every := time.Duration((at - before) * float64(time.Second))
		if least := p.every[of]; least == 0 || every < least {
			p.every[of] = every
		}
	}
	fresh = !known || at > before
	if fresh {
		p.late[of] = (!known || now-last > oldest.Seconds()) && now-at > latest.Seconds()
	}
	return fresh
}

// checkAge reports an error if a target is scraped too seldom, or was scraped too long ago.
func (p *Prometheus) checkAge(of target, at, now float64) error {
	if every := p.every[of].Round(time.Second); every > longestEvery {
		p.seen[of] = at // the next scrape may be sooner
		return fmt.Errorf("%s is scraped every %v, want %v at most: "+
			"instant queries see a sample for %v", of, every, longestEvery, series.Lookback)
	}
	limit := oldest
	if every := p.every[of]; every > 0 {
		limit = min(oldest, every*5/2+2*time.Second)
	}
	if age := time.Duration((now - at) * float64(time.Second)); age > limit {
		return fmt.Errorf("the last scrape of %s is %v old, want less than %v",
			of, age.Round(time.Second), limit.Round(time.Second))
	}
	return nil
}

// read fills p.out with the samples of the targets that were scraped.
func (p *Prometheus) read(ctx context.Context, fresh map[target]float64) error {
	all, err := p.ask(ctx, p.metric)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fmt.Errorf(
			"the Prometheus server has no metric of the role %s: want node_exporter's, or the target's own",
			p.conf.Role,
		)
	}
	exporters := map[target]bool{}
	for _, a := range all {
		if hasPrefix(a.Metric["__name__"], exporterPrefixes) {
			exporters[a.target()] = true
		}
	}
	p.keys = make(map[string]bool, len(all))
	var cpu [2]float64
	var key []byte
	for _, a := range all {
		_, v, err := a.number()
		if err != nil {
			return err
		}
		if math.IsNaN(v) {
			continue
		}
		name, of := a.Metric["__name__"], a.target()
		if exporters[of] && hasPrefix(name, processPrefixes) {
			continue
		}
		if name == "node_cpu_seconds_total" {
			cpu[0] += v
			if mode := a.Metric["mode"]; mode != "idle" && mode != "iowait" {
				cpu[1] += v
			}
		}
		s := series.Sample{Name: name, Labels: p.labels(a.Metric), Value: v}
		key = s.AppendKey(key[:0])
		if p.keys[string(key)] {
			return fmt.Errorf(
				"the Prometheus server has the series %.200s twice for role %s: select one of them",
				key,
				p.conf.Role,
			)
		}
		p.keys[string(key)] = true
		if _, ok := fresh[of]; ok && !p.late[of] {
			p.out = append(p.out, s)
		}
	}
	p.cpu = cpu
	return nil
}

// labels returns the server's labels in the order of their names, with the role.
func (p *Prometheus) labels(metric map[string]string) []series.Label {
	out := make([]series.Label, 0, len(metric))
	for name, value := range metric {
		switch name {
		case "__name__":
			continue
		case "role":
			name = "exported_role"
		}
		out = append(out, series.Label{Name: name, Value: value})
	}
	out = append(out, series.Label{Name: "role", Value: p.conf.Role})
	slices.SortFunc(out, func(a, b series.Label) int { return strings.Compare(a.Name, b.Name) })
	return out
}
