package main

import (
	"fmt"
	"slices"
	"strings"
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
	Closed  []float64  `json:"-"`
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

func (r *report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"`%s` on %s: %s; %d interleaved rounds, %.0f s in all. Medians, with the range over the rounds in brackets.\n",
		r.Command,
		r.Date.Format("2006-01-02 15:04 UTC"),
		r.Machine,
		r.Rounds,
		r.Seconds,
	)
	if len(r.Clients) > 0 {
		b.WriteString(
			"\nClosed loop, 64 connections, client and server with a core each:\n\n| client | requests per client CPU-second | plimsoll is | to reach | |\n|---|---|---|---|---|\n",
		)
		for _, c := range r.Clients {
			if c.Failure != "" {
				fmt.Fprintf(
					&b,
					"| %s | FAILED: %s | | | |\n",
					c.Name,
					strings.ReplaceAll(c.Failure, "|", "/"),
				)
				continue
			}
			goal, met := "", ""
			if c.Goal > 0 {
				goal, met = fmt.Sprintf(">= %g ×", c.Goal), verdict(c.Ratio.Median >= c.Goal)
			}
			ratio := ""
			if c.Name != "plimsoll" {
				ratio = fmt.Sprintf(
					"%.2f × (%.2f to %.2f)",
					c.Ratio.Median,
					c.Ratio.Min,
					c.Ratio.Max,
				)
			}
			fmt.Fprintf(
				&b,
				"| %s | %s (%s to %s) | %s | %s | %s |\n",
				c.Name,
				thousands(c.PerCPUSecond.Median),
				thousands(c.PerCPUSecond.Min),
				thousands(c.PerCPUSecond.Max),
				ratio,
				goal,
				met,
			)
		}
	}
	if len(r.Figures) > 0 {
		b.WriteString("\n| figure | measured | to reach | | |\n|---|---|---|---|---|\n")
		for _, f := range r.Figures {
			if f.Failure != "" {
				fmt.Fprintf(
					&b,
					"| %s | FAILED: %s | | | |\n",
					f.Name,
					strings.ReplaceAll(study.OneLine(f.Failure), "|", "/"),
				)
				continue
			}
			value := ""
			switch {
			case f.Value.N == 1:
				value = number(f.Value.Median) + " " + f.Unit
			case f.Value.N > 1:
				value = fmt.Sprintf(
					"%s %s (%s to %s)",
					number(f.Value.Median),
					f.Unit,
					number(f.Value.Min),
					number(f.Value.Max),
				)
			}
			fmt.Fprintf(
				&b,
				"| %s | %s | %s | %s | %s |\n",
				f.Name,
				value,
				f.Goal,
				verdict(f.Met),
				f.Note,
			)
		}
	}
	if r.Truth != "" {
		fmt.Fprintf(&b, "\n%s\n", r.Truth)
	}
	return b.String()
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
