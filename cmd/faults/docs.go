package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/report"
	"plimsoll/run/record"
	"plimsoll/watch/series"
)

// The two runs of the case: packets lost at the proxy, and the same without the loss.
const (
	withLoss    = "loss"
	withoutLoss = "none"
)

// pictures are the graphs of the case: a name, a title, and its PromQL, in seconds of the search.
var pictures = []struct {
	spec  report.GraphSpec
	query string
}{
	{report.GraphSpec{Name: "users", Title: "Users", Scale: 1}, `sum(plimsoll_users{state="active"})`},
	{report.GraphSpec{Name: "p95", Title: "p95 of response times", Unit: "ms", Scale: 1000}, `avg_over_time(plimsoll_op_seconds{op="op", stat="p95"}[3s])`},
	{report.GraphSpec{Name: "retransmits", Title: "TCP segments sent again, all hosts", Unit: "1/s", Scale: 1}, `sum(rate(node_netstat_Tcp_RetransSegs[3s]))`},
	{report.GraphSpec{Name: "timeouts", Title: "TCP timeouts, all hosts", Unit: "1/s", Scale: 1}, `sum(rate(node_netstat_TcpExt_TCPTimeouts[3s]))`},
	{report.GraphSpec{Name: "app-cpu", Title: "CPU of the app's processes, of one core", Unit: "%", Scale: 100}, `sum(rate(plimsoll_process_cpu_seconds_total{role="app"}[3s]))`},
	{report.GraphSpec{Name: "core", Title: "Core of app, proxy and database, busy", Unit: "%", Scale: 100}, `avg_over_time(plimsoll_cpu_busy_ratio{role="app"}[3s])`},
}

const (
	beginTable, endTable = "<!-- faults -->", "<!-- end of faults -->"
	beginCase, endCase   = "<!-- case -->", "<!-- end of case -->"
)

// write puts the table, the case's runs and its graphs into the documentation.
func write(ctx context.Context, docs, dir string, t tally, results []result) error {
	path := filepath.Join(docs, "limiter.md")
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, err := between(string(b), beginTable, endTable, fmt.Sprintf("Measured on %s by `make faults`.\n\n%s", time.Now().UTC().Format("2 January 2006"), t.table()))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if said, err := pair(ctx, docs, dir, results); err != nil {
		return err
	} else if said != "" {
		if text, err = between(text, beginCase, endCase, said); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// between replaces the text between two marks.
func between(text, begin, end, with string) (string, error) {
	head, rest, ok1 := strings.Cut(text, begin+"\n")
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		return "", fmt.Errorf("the marks %s and %s are not there", begin, end)
	}
	return head + begin + "\n" + strings.TrimRight(with, "\n") + "\n" + end + tail, nil
}

// pair draws a run with the loss and one without it, and returns the named limiters; "" without both. They are the
// first two of one number that were both named rightly: the table counts the others.
func pair(ctx context.Context, docs, dir string, results []result) (string, error) {
	var runs []result
	for _, r := range results {
		i := slices.IndexFunc(results, func(o result) bool { return o.Fault == withLoss && o.Number == r.Number && o.ok() })
		if r.Fault == withoutLoss && r.ok() && i >= 0 {
			runs = []result{results[i], r}
			break
		}
	}
	if runs == nil {
		return "", nil
	}
	d := report.Document{}
	for _, p := range pictures {
		g := report.GraphData{Test: report.Unbounded, GraphSpec: p.spec, File: "case_" + p.spec.Name + ".png"}
		for k, r := range runs {
			arm, err := curve(ctx, filepath.Join(dir, "runs", "runs", r.Run), p.query, p.spec.Scale)
			if err != nil {
				return "", fmt.Errorf("graph %s: %w", p.spec.Name, err)
			}
			arm.Arm, arm.Index = []string{"packets lost at the proxy", "nothing lost"}[k], k
			g.Arms = append(g.Arms, arm)
		}
		d.Graphs = append(d.Graphs, g)
	}
	if err := os.MkdirAll(filepath.Join(docs, "limiter"), 0o755); err != nil {
		return "", err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "Run %d of each, the first of one number that were both named rightly; the table has all.\n\n", runs[0].Number)
	for k, what := range []string{"Packets lost at the proxy", "Nothing lost"} {
		r := runs[k]
		fmt.Fprintf(&out, "- %s: %s, named first **%s** (confidence %s); %s. First evidence: %s\n", what, capacityText(r.Capacity), r.Limiter, r.Confidence, r.Injected, sentence(r))
	}
	out.WriteString("\n")
	for i, g := range report.Graphs(d) {
		f, err := os.Create(filepath.Join(docs, "limiter", g.File))
		if err != nil {
			return "", err
		}
		if err := errors.Join(g.PNG(f), f.Close()); err != nil {
			return "", err
		}
		if i == 0 {
			out.WriteString("| | |\n|---|---|\n")
		}
		fmt.Fprintf(&out, "| ![%s](limiter/%s) ", d.Graphs[i].Title, g.File)
		if i%2 == 1 {
			out.WriteString("|\n")
		}
	}
	return out.String(), nil
}

func capacityText(c string) string {
	kind, users, ok := strings.Cut(c, " ")
	if !ok || kind != record.Estimate {
		return "capacity " + c
	}
	return "capacity " + users + " users"
}

func sentence(r result) string {
	if len(r.Evidence) == 0 {
		return "none."
	}
	return r.Evidence[0]
}

// curve reads a query over the search of a stored run, once a second.
func curve(ctx context.Context, dir, query string, scale float64) (report.ArmLine, error) {
	out := report.ArmLine{N: 1, Step: 1}
	r, err := record.Open(dir)
	if err != nil {
		return out, err
	}
	db, err := series.Open(filepath.Join(dir, record.SeriesDir))
	if err != nil {
		return out, err
	}
	defer db.Close()
	ph, ok := r.Manifest.Phase("search")
	if !ok {
		return out, errors.New("the run has no search")
	}
	from := r.Manifest.Epoch.Add(ph.From)
	lines, err := db.Range(ctx, query, from, r.Manifest.Epoch.Add(ph.To), time.Second)
	if err != nil {
		return out, err
	}
	if len(lines) != 1 {
		return out, fmt.Errorf("%d series, want one", len(lines))
	}
	for i, t := range lines[0].T {
		if v := lines[0].V[i]; !math.IsNaN(v) && !math.IsInf(v, 0) {
			out.T, out.Median = append(out.T, t.Sub(from).Seconds()), append(out.Median, v*scale)
		}
	}
	return out, nil
}
