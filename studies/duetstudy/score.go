package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/files"
	"plimsoll/report"
	"plimsoll/stats"
	"plimsoll/studies/study"
)

// The modes of a comparison.
const (
	sequence = "sequence"
	duet     = "duet"
)

// endpoints are those of the table.
var endpoints = []string{"mean(post)", "p95(post)", "cost(app)", "cost(db)"}

// A trial is one comparison of a build with itself: the pairs of runs by endpoint, base first.
type trial struct {
	At      time.Time               `json:"at"`
	Commit  string                  `json:"commit"`
	Machine string                  `json:"machine"`
	Plan    string                  `json:"plan"` // digest, before seed, engine, mode and blocks
	Engine  string                  `json:"engine"`
	Mode    string                  `json:"mode"`
	Host    string                  `json:"host"`
	Seed    uint64                  `json:"seed"`
	Blocks  int                     `json:"blocks"`
	Seconds float64                 `json:"seconds"`
	ID      string                  `json:"comparison"`
	Pairs   map[string][][2]float64 `json:"pairs"`
}

// planDigest stands for the plan of the study: pairs of another plan are in the file and not in the
// table.
func planDigest() string { return study.Digest(planText, 8) }

// read takes the pairs from a report.
func (t *trial) read(doc report.Document) {
	t.ID, t.Pairs = doc.Comparison, map[string][][2]float64{}
	for _, f := range doc.Verdicts {
		for _, r := range f.Verdict.Results {
			for _, p := range r.Pairs {
				if slices.Contains(endpoints, r.Name) {
					t.Pairs[r.Name] = append(t.Pairs[r.Name], [2]float64{p.Base, p.New})
				}
			}
		}
	}
}

// The results: a line for each comparison, and the page with their table.
const (
	pairsFile = "duet.jsonl"
	page      = "duet.md"
	tablePart = "table of the duet study"
)

// load reads the comparisons of the present plan; none where there is no file.
func load(dir string) ([]trial, error) {
	all, err := files.ReadJSONLines[trial](filepath.Join(dir, pairsFile))
	return slices.DeleteFunc(all, func(t trial) bool { return t.Plan != planDigest() }), err
}

// A scatter is the logarithms of new/base of a mode, a kind of host and an endpoint.
type scatter []float64

func scatterOf(trials []trial, mode, host, endpoint string) (s scatter) {
	for _, t := range trials {
		if t.Mode != mode || t.Host != host {
			continue
		}
		for _, p := range t.Pairs[endpoint] {
			if p[0] > 0 && p[1] > 0 {
				s = append(s, math.Log(p[1]/p[0]))
			}
		}
	}
	return s
}

func (s scatter) sd() float64 {
	sample, _ := stats.NewSample(s...) // logarithms are finite
	return sample.SD()
}

// leastPairs is from how many pairs of each mode on a factor is printed.
const leastPairs = 6

// factor returns how many times as much a scatters as b, with the 95 % interval of 4,000 resamples
// of the pairs of either.
func factor(a, b scatter) (ratio, lo, hi float64) {
	rng := rand.New(rand.NewPCG(uint64(len(a)), uint64(len(b))))
	again := func(s scatter) scatter {
		out := make(scatter, len(s))
		for i := range out {
			out[i] = s[rng.IntN(len(s))]
		}
		return out
	}
	var all []float64
	for range 4000 {
		if r := again(a).sd() / again(b).sd(); !math.IsNaN(r) {
			all = append(all, r)
		}
	}
	slices.Sort(all)
	at := func(p float64) float64 { return all[int(p*float64(len(all)-1))] }
	return a.sd() / b.sd(), at(0.025), at(0.975)
}

// A row is an endpoint on a kind of host, by both modes.
type row struct {
	Endpoint, Host string
	Sequence, Duet scatter
}

// SD is the standard deviation in percent.
func (s scatter) SD() float64 { return 100 * s.sd() }

// Enough reports whether a factor is printed.
func (r row) Enough() bool { return len(r.Sequence) >= leastPairs && len(r.Duet) >= leastPairs }

// Factor is how many times as much a sequence scatters, with its interval.
func (r row) Factor() string {
	ratio, lo, hi := factor(r.Sequence, r.Duet)
	return fmt.Sprintf("**%.1f** | %.1f to %.1f", ratio, lo, hi)
}

// Mean is that of the duet, with its interval.
func (r row) Mean() string {
	sample, err := stats.NewSample(r.Duet...)
	if err != nil {
		return "-"
	}
	ci := stats.TInterval(sample, 0.95)
	return fmt.Sprintf("%+.1f %% [%+.1f, %+.1f]", 100*sample.Mean(), 100*ci.Lo, 100*ci.Hi)
}

const tableText = `{{with .First}}{{.Machine}}, {{date .At}}{{end}} to {{.Last.At.Format "15:04"}}, commits {{.First.Commit}} to {{.Last.Commit}}, {{.First.Engine}}.

| endpoint | host | pairs: sequence | duet | sd of ln(B/A): sequence | duet | **factor** | 95 % interval | mean of the duet |
|---|---|--:|--:|--:|--:|--:|---|---|
{{range .Rows -}}
| {{.Endpoint}} | {{.Host}} | {{len .Sequence}} | {{len .Duet}} | {{if .Enough -}}
{{printf "%.1f %% | %.1f %%" .Sequence.SD .Duet.SD}} | {{.Factor}} | {{.Mean}} |
{{else}}too few pairs | | | | |
{{end}}{{end}}
A pair took {{.Time}}, deployment included.
`

// tableOf writes the table of the page.
func tableOf(trials []trial) string {
	if len(trials) == 0 {
		return "No pairs were measured yet.\n"
	}
	var rows []row
	for _, host := range []string{study.Quiet, study.Neighbor} {
		for _, e := range endpoints {
			rows = append(rows, row{e, host,
				scatterOf(trials, sequence, host, e), scatterOf(trials, duet, host, e)})
		}
	}
	return study.Render(tableText, nil, map[string]any{
		"First": trials[0], "Last": trials[len(trials)-1], "Rows": rows, "Time": timeOf(trials),
	})
}

// timeOf is how long a pair took by either mode, deployments included.
func timeOf(trials []trial) string {
	seconds, pairs := map[string]float64{}, map[string]int{}
	for _, t := range trials {
		seconds[t.Mode] += t.Seconds
		pairs[t.Mode] += t.Blocks
	}
	var parts []string
	for _, m := range []string{sequence, duet} {
		if pairs[m] > 0 {
			parts = append(parts, fmt.Sprintf("%.0f s by %s", seconds[m]/float64(pairs[m]), m))
		}
	}
	return strings.Join(parts, " and ")
}
