package main

import (
	_ "embed"
	"fmt"
	"slices"
	"text/template"
	"time"

	"plimsoll/stats"
	"plimsoll/studies/study"
)

// A spread is a median with its range.
type spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	N      int     `json:"n"`
}

func spreadOf(v []float64) spread {
	if len(v) == 0 {
		return spread{}
	}
	return spread{stats.Median(v), slices.Min(v), slices.Max(v), len(v)}
}

// ratios divides round by round.
func ratios(a, b []float64) []float64 {
	var out []float64
	for i := range min(len(a), len(b)) {
		out = append(out, a[i]/b[i])
	}
	return out
}

// A client64 is one client's line of the closed loop.
type client64 struct {
	Name         string  `json:"name"`
	PerCPUSecond spread  `json:"requests_per_cpu_second"`
	Ratio        spread  `json:"plimsoll_ratio"` // ours over this one, by rounds
	Goal         float64 `json:"goal,omitempty"`
	Failure      string  `json:"failure,omitempty"`
}

// A figure is another row.
type figure struct {
	Name    string `json:"name"`
	Unit    string `json:"unit,omitempty"`
	Value   spread `json:"value"`
	Goal    string `json:"goal,omitempty"`
	Met     bool   `json:"met"`
	Note    string `json:"note,omitempty"`
	Failure string `json:"failure,omitempty"`
}

type report struct {
	Date    time.Time  `json:"date"`
	Machine string     `json:"machine"`
	Command string     `json:"command"`
	Short   bool       `json:"short"`
	Rounds  int        `json:"rounds"`
	Seconds float64    `json:"seconds"`
	Clients []client64 `json:"clients"`
	Figures []figure   `json:"figures"`
	Truth   string     `json:"truth,omitempty"`
}

// failed counts the rows that could not be measured. A figure that was measured and missed is not a
// failure of the benchmark.
func (r *report) failed() int {
	n := 0
	for _, c := range r.Clients {
		if c.Failure != "" {
			n++
		}
	}
	for _, f := range r.Figures {
		if f.Failure != "" {
			n++
		}
	}
	return n
}

// add adds a figure that was measured.
func (r *report) add(name, unit string, values []float64, goal string, met bool, note string) {
	r.Figures = append(r.Figures, figure{
		Name:  name,
		Unit:  unit,
		Value: spreadOf(values),
		Goal:  goal,
		Met:   met,
		Note:  note,
	})
}

//go:embed report.tmpl
var reportText string

func (r *report) markdown() string {
	return study.Render(reportText, template.FuncMap{
		"line": study.OneLine, "met": verdict, "number": number, "thousands": thousands,
	}, r)
}

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "MISSED"
}

func number(v float64) string {
	switch {
	case v >= 1000:
		return thousands(v)
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func thousands(v float64) string {
	s := fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// tableName is that of the written part of benchmarks.md.
const tableName = "table of make bench"
