package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"text/template"
	"time"

	"plimsoll/studies/study"
)

const (
	outcomesFile = "k6.jsonl"
	pagePart     = "table of make k6-study"
)

// An outcome is one script in both programs.
type outcome struct {
	At      time.Time `json:"at"`
	Commit  string    `json:"commit"`
	Script  string    `json:"script"`
	Slack   int       `json:"slack,omitempty"`
	Part    float64   `json:"part,omitempty"`
	Peer    *tally    `json:"k6,omitempty"`
	Ours    *tally    `json:"plimsoll,omitempty"`
	Failure string    `json:"failure,omitempty"`
}

// A row is one count of both.
type row struct {
	Kind, Name string
	Peer, Ours passed
	Same       bool
}

// rows are all counts of both, in a fixed order.
func (o outcome) rows() (list []row) {
	if o.Peer == nil || o.Ours == nil {
		return nil
	}
	add := func(kind, name string, peer, ours passed) {
		same := o.near(peer.Yes, ours.Yes) && o.near(peer.No, ours.No)
		if kind == "thresholds" {
			same = peer == ours
		}
		list = append(list, row{kind, name, peer, ours, same})
	}
	add("iterations", "", passed{Yes: o.Peer.Iterations}, passed{Yes: o.Ours.Iterations})
	counted := func(kind string, peer, ours map[string]*passed) {
		for _, name := range names(peer, ours) {
			add(kind, name, *at(peer, name), *at(ours, name))
		}
	}
	counted("request", o.Peer.Requests, o.Ours.Requests)
	counted("check", o.Peer.Checks, o.Ours.Checks)
	for _, name := range names(o.Peer.Groups, o.Ours.Groups) {
		add("group", name, passed{Yes: o.Peer.Groups[name]}, passed{Yes: o.Ours.Groups[name]})
	}
	if o.Peer.Thresholds != (passed{}) {
		add("thresholds", "", o.Peer.Thresholds, o.Ours.Thresholds)
	}
	return list
}

// near reports whether two counts are as good as equal; see [sample].
func (o outcome) near(a, b int) bool {
	return math.Abs(float64(a-b)) <= float64(o.Slack)+o.Part*float64(max(a, b))
}

func names[V any](a, b map[string]V) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(all)
	return slices.Compact(all)
}

// differences are the counts that are not the same, as a person reads them.
func (o outcome) differences() (list []string) {
	if o.Failure != "" {
		return []string{o.Failure}
	}
	for _, r := range o.rows() {
		if !r.Same {
			list = append(list, fmt.Sprintf("%s: k6 %v, plimsoll %v",
				strings.TrimSpace(r.Kind+" "+r.Name), r.Peer, r.Ours))
		}
	}
	return list
}

func (p passed) String() string {
	if p.No == 0 {
		return fmt.Sprint(p.Yes)
	}
	return fmt.Sprintf("%d, not %d", p.Yes, p.No)
}

const pageText = `{{with .All}}{{with index . 0}}{{date .At}} UTC, commit {{.Commit}}{{end}}: {{$.Same}} of {{len .}} scripts have the same outcome, {{$.Counts}} of {{$.Total}} counts.

{{end}}| script | | name | k6 | plimsoll | |
|---|---|---|--:|--:|---|
{{range $o := .All}}{{if .Failure -}}
| {{.Script}} | | FAILED: {{cell .Failure}} | | | differs |
{{end}}{{range rows . -}}
| {{$o.Script}} | {{.Kind}} | {{.Name}} | {{.Peer}} | {{.Ours}} | {{if .Same}}same{{else}}**differs**{{end}} |
{{end}}{{end}}`

// page is the table of all outcomes.
func page(all []outcome) string {
	total, same, scripts := 0, 0, 0
	for _, o := range all {
		for _, r := range o.rows() {
			if total++; r.Same {
				same++
			}
		}
		if len(o.differences()) == 0 {
			scripts++
		}
	}
	return study.Render(pageText, template.FuncMap{"rows": outcome.rows}, map[string]any{
		"All": all, "Same": scripts, "Counts": same, "Total": total,
	})
}
