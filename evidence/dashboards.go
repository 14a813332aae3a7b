package evidence

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"plimsoll/report"
	"plimsoll/watch/series"
)

// A Board is a dashboard: its panels, without the ones that only make sense in Grafana, the choice
// of a run, and without the timeline and the panels of rules, which the pages draw against their
// thresholds.
type Board []framed

// A framed panel is one of a dashboard: its questions to the series of a run.
type framed struct {
	group, title, unit string
	targets            []question
}

// A question is one query of a panel. A gauge reads values at an instant; other queries are rates.
type question struct {
	query, legend string
	gauge         bool
}

// Dashboards returns a function that reads Grafana's dashboards, JSON by kind of page, once.
func Dashboards(texts map[string][]byte) func() (map[string]Board, error) {
	return sync.OnceValues(func() (map[string]Board, error) {
		out := map[string]Board{}
		for kind, text := range texts {
			panels, err := readDashboard(text)
			if err != nil {
				return nil, fmt.Errorf("dashboard %s: %w", kind, err)
			}
			out[kind] = panels
		}
		return out, nil
	})
}

func readDashboard(text []byte) (Board, error) {
	var d struct {
		Panels []struct {
			Type, Title, Repeat string
			FieldConfig         struct{ Defaults struct{ Unit string } }
			Targets             []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	var out Board
	group := ""
	for _, p := range d.Panels {
		if p.Type == "row" {
			group = p.Title
		}
		if p.Type != "timeseries" || p.Repeat != "" {
			continue
		}
		f := framed{group: group, title: p.Title, unit: p.FieldConfig.Defaults.Unit}
		for _, t := range p.Targets {
			f.targets = append(f.targets, question{
				query:  unbound.Replace(t.Expr),
				legend: t.LegendFormat,
				gauge:  !strings.Contains(t.Expr, "$__rate_interval"),
			})
		}
		out = append(out, f)
	}
	return out, nil
}

// unbound takes Grafana's variables out of a query: the run is the only one that is open.
var unbound = strings.NewReplacer(`{run=~"$run"}`, "", `run=~"$run",`, "", "$__rate_interval", "$w")

// draw evaluates a panel on the clock of a test.
func (x *stretch) draw(ctx context.Context, f framed) (report.Panel, error) {
	p := report.Panel{Group: f.group, Title: f.title}
	var labels []map[string]string
	peak := 0.0
	for _, t := range f.targets {
		lines, err := x.lines(ctx, t.query, t.gauge)
		if err != nil {
			return p, fmt.Errorf("panel %s: %w", f.title, err)
		}
		for _, l := range lines {
			line := x.line(l, 1)
			if len(line.T) == 0 {
				continue
			}
			p.Lines = append(p.Lines, report.PanelLine{
				Name: legendOf(t.legend, l.Labels),
				Line: line,
			})
			labels = append(labels, l.Labels)
			peak = max(peak, slices.Max(line.V))
		}
	}
	tellApart(p.Lines, labels)
	unit, scale := unitOf(f.unit, peak)
	p.Unit = unit
	for _, l := range p.Lines {
		for i := range l.V {
			l.V[i] *= scale
		}
	}
	return p, nil
}

var legendLabel = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)

// legendOf fills Grafana's legend with the labels of a line.
func legendOf(format string, labels map[string]string) string {
	text := legendLabel.ReplaceAllStringFunc(format, func(s string) string {
		return labels[legendLabel.FindStringSubmatch(s)[1]]
	})
	return cmp.Or(strings.Join(strings.Fields(text), " "), "value")
}

// tellApart gives lines of one name the labels in which they differ: two hosts of which each has a
// load.
func tellApart(lines []report.PanelLine, labels []map[string]string) {
	byName := map[string][]int{}
	for i, l := range lines {
		byName[l.Name] = append(byName[l.Name], i)
	}
	for _, same := range byName {
		if len(same) < 2 {
			continue
		}
		var differ []string
		names := map[string]bool{}
		for _, i := range same {
			for name := range labels[i] {
				names[name] = true
			}
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			unlike := func(i int) bool { return labels[i][name] != labels[same[0]][name] }
			if name != "__name__" && slices.ContainsFunc(same, unlike) {
				differ = append(differ, name)
			}
		}
		if slices.Contains(differ, "instance") { // it contains the role
			differ = slices.DeleteFunc(differ, func(s string) bool { return s == "role" })
		}
		for _, i := range same {
			var parts []string
			for _, name := range differ {
				parts = append(parts, cmp.Or(labels[i][name], "this host"))
			}
			lines[i].Name = strings.Join(append([]string{lines[i].Name}, parts...), " ")
		}
	}
}

// unitOf translates a unit of Grafana, for values up to peak: the unit that is shown, and the
// factor of the values.
func unitOf(unit string, peak float64) (string, float64) {
	const mebi = 1.0 / (1 << 20)
	switch unit {
	case "percentunit":
		return "%", 100
	case "s":
		if peak < 10 {
			return "ms", 1000
		}
		return "s", 1
	case "bytes", "Bps":
		name, scale := "MiB", mebi
		if peak*mebi < 1 {
			name, scale = "KiB", mebi*1024
		}
		if unit == "Bps" {
			name += "/s"
		}
		return name, scale
	case "ops":
		return "1/s", 1
	case "pps":
		return "packets/s", 1
	}
	return "", 1
}

// rulePanels are the rules of a run over one of its tests, each against its threshold.
func (x *stretch) rulePanels(ctx context.Context) ([]report.Panel, error) {
	byRule := map[string]map[string]series.RangeSeries{}
	for _, name := range []string{"threshold", "value", "violated", "no_data"} {
		lines, err := x.lines(ctx, "plimsoll_slo_"+name, true)
		if err != nil {
			return nil, err
		}
		byRule[name] = map[string]series.RangeSeries{}
		for _, l := range lines {
			byRule[name][l.Labels["rule"]] = l
		}
	}
	var out []report.Panel
	for _, rule := range slices.Sorted(maps.Keys(byRule["threshold"])) {
		limit := byRule["threshold"][rule].V[0]
		p := report.RulePanel(
			rule,
			limit,
			x.line(byRule["value"][rule], 1),
			x.spans(byRule["violated"][rule]),
			x.spans(byRule["no_data"][rule]),
		)
		if len(p.Lines) == 0 {
			p.Why = "the rule had no value in this test"
		}
		out = append(out, p)
	}
	return out, nil
}

// spans are the stretches in which a line is not 0.
func (x *stretch) spans(l series.RangeSeries) []report.Stretch {
	var out []report.Stretch
	for i, t := range l.T {
		if l.V[i] == 0 {
			continue
		}
		from := t.Sub(x.from).Seconds()
		to := from + x.fine.Seconds()
		if n := len(out); n > 0 && from <= out[n-1].To+1e-3 {
			out[n-1].To = to
			continue
		}
		out = append(out, report.Stretch{From: from, To: to})
	}
	return out
}
