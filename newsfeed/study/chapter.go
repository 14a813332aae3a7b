package study

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"plimsoll/dialect"
	"plimsoll/stats"
)

// Setting holds the inputs of a chapter besides runs.
type Setting struct {
	Arms []StudiedArm // in the order of the tables
	// Stores names the program behind each other store: "wide: built-in, in the place of
	// Cassandra".
	Stores string
}

// Compare makes the chapter. Runs are the judged ones.
func Compare(set Setting, runs []RunFigures) dialect.Supplement {
	c := dialect.Supplement{Title: "Beside the study"}
	var findings []ClaimResult
	c.Notes = append(c.Notes, absolute(set, runs))
	for _, claim := range Claims() {
		f := claim.Judge(set.Arms, runs)
		findings = append(findings, f)
		c.Notes = append(c.Notes, strings.TrimSuffix(f.Sentence, ".")+".")
		// the two figures that the study is known for
		if !f.Latency && !f.Vague && f.N > 0 {
			c.Leads = append(c.Leads, f.Sentence)
		}
	}
	c.Notes = append(c.Notes, why(set, runs)...)
	c.Notes = append(c.Notes, drift(set, runs), law(runs))
	c.Tables = append(c.Tables, claimTable(findings), armTable(set, runs), lawTable(set, runs))
	c.Charts = charts(set, runs)
	return c
}

// of returns the runs of an arm.
func of(runs []RunFigures, arm string) (out []RunFigures) {
	for _, r := range runs {
		if r.Arm == arm {
			out = append(out, r)
		}
	}
	return out
}

// mean returns the geometric mean of a figure over runs and its interval; NaN if unknown.
func mean(runs []RunFigures, figure func(RunFigures) float64) (v, lo, hi float64) {
	nan := math.NaN()
	logs := make([]float64, 0, len(runs))
	for _, r := range runs {
		x := figure(r)
		if !(x > 0) || math.IsInf(x, 0) {
			return nan, nan, nan
		}
		logs = append(logs, math.Log(x))
	}
	s, err := stats.NewSample(logs...)
	if err != nil || s.N() == 0 {
		return nan, nan, nan
	}
	in := stats.TInterval(s, level)
	return math.Exp(s.Mean()), math.Exp(in.Lo), math.Exp(in.Hi)
}

func clientRate(r RunFigures) float64 { return r.Client.PerMinute }

// absolute sets the throughputs beside the published ones.
func absolute(set Setting, runs []RunFigures) string {
	published := map[Variant]float64{
		mysqlPlain:    publishedMySQL,
		postgresPlain: publishedPostgreSQL,
		bridged:       publishedBridge,
	}
	var parts []string
	for _, a := range set.Arms {
		v, lo, hi := mean(of(runs, a.Name), clientRate)
		if math.IsNaN(v) {
			continue
		}
		text := fmt.Sprintf("%s %s", a.Label, thousands(v))
		if !math.IsNaN(lo) {
			text += fmt.Sprintf(" [%s, %s]", thousands(lo), thousands(hi))
		}
		if p := published[a.Variant]; p > 0 {
			text += fmt.Sprintf(" (published: %s, ours is %.2f times that)", thousands(p), v/p)
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return "No run has stories to set beside the published figures."
	}
	text := "Stories per minute: " + strings.Join(parts, "; ") +
		". These are figures of other machines, programs and stores than the study's, " +
		"and of one host for everything: only ratios between variants can be set against each other."
	if set.Stores != "" {
		text += " Here play: " + set.Stores + "."
	}
	return text
}

// why explains the differences by the runs and the published figures themselves.
func why(set Setting, runs []RunFigures) (out []string) {
	inFlight := publishedMySQL / 60.0 * publishedLatency / 1000
	out = append(out, fmt.Sprintf(
		"The published figures do not fit together: %s stories per minute of %.0f ms each are %.1f requests under way at a time, and %d threads that wait for every answer cannot have more than %d. "+
			"Either more of them ran, or throughput and latency are of different things; no run of ours can reproduce both.",
		thousands(publishedMySQL),
		publishedLatency,
		inFlight,
		publishedThreads,
		publishedThreads,
	))
	for _, a := range set.Arms {
		shares, n := map[string]float64{}, 0
		inside, users := 0.0, 0.0
		for _, r := range of(runs, a.Name) {
			if len(r.Shares) == 0 || r.Law.Server == 0 {
				continue
			}
			n++
			inside, users = inside+r.Law.Inside(), users+float64(r.Law.Users)
			for store, v := range r.Shares {
				shares[store] += v
			}
		}
		if n == 0 {
			continue
		}
		var parts []string
		for _, store := range slices.SortedFunc(maps.Keys(shares), func(x, y string) int {
			return cmp.Or(cmp.Compare(shares[y], shares[x]), cmp.Compare(x, y))
		}) {
			parts = append(parts, fmt.Sprintf("%s %.0f %%", store, 100*shares[store]/float64(n)))
		}
		text := fmt.Sprintf(
			"%s: of the service's time for all requests the stores took %s.",
			a.Label,
			strings.Join(parts, ", "),
		)
		if db := shares["database"] / float64(n); db > 0 && users > 0 {
			held := db * inside / users // of the users' time
			text += fmt.Sprintf(
				" The users spent %.0f %% of their time waiting for the database: one that took no time at all would give %.0f %% more throughput, and no faster database can give more.",
				100*held,
				100*(1/(1-held)-1),
			)
		}
		out = append(out, text)
	}
	return out
}

// drift states whether the mean response climbed, as it did in the study.
func drift(set Setting, runs []RunFigures) string {
	published := math.Log(publishedLast/publishedFirst) / 60 // per minute
	text := fmt.Sprintf(
		"Drift: in the study the mean response climbed from %.0f to %.0f ms over an hour, %+.2f %% a minute.",
		publishedFirst,
		publishedLast,
		100*published,
	)
	var parts []string
	for _, a := range set.Arms {
		var slopes []float64
		for _, r := range of(runs, a.Name) {
			if !math.IsNaN(r.Slope) {
				slopes = append(slopes, r.Slope)
			}
		}
		s, err := stats.NewSample(slopes...)
		in := stats.TInterval(s, level)
		if err != nil || !in.Known() {
			continue
		}
		word := "and the published climb lies outside"
		switch holds := in.Lo <= published && published <= in.Hi; {
		case holds && in.Lo <= 0 && in.Hi >= 0:
			word = "which holds the published climb and none"
		case holds:
			word = "which holds the published climb"
		}
		parts = append(parts, fmt.Sprintf(
			"%s %+.2f %% a minute [%+.2f, %+.2f], %s",
			a.Label,
			100*s.Mean(),
			100*in.Lo,
			100*in.Hi,
			word,
		))
	}
	if len(parts) == 0 {
		return text + " The runs here are too few or too short to say anything of it."
	}
	return text + " Here, within runs: " + strings.Join(parts, "; ") + "."
}

// law states whether all runs obey Little's law.
func law(runs []RunFigures) string {
	bad, failed := 0, uint64(0)
	own := 0.0
	for _, r := range runs {
		if !r.Law.Holds() {
			bad++
		}
		own = max(own, r.Law.Own())
		failed += r.Law.Failed
	}
	text := fmt.Sprintf(
		"Little's law: in %d of %d runs throughput × mean response is at most the number of users, and the service's own telemetry at most that, within the tolerance of the measured time's edges.",
		len(runs)-bad,
		len(runs),
	)
	if bad > 0 {
		text += " In the others a figure is wrong: do not believe them."
	}
	if failed > 0 {
		text += fmt.Sprintf(" %d requests failed without a time and are not in it.", failed)
	}
	if own > 0 {
		text += fmt.Sprintf(
			" The users' own time between two requests was up to %.0f %% of theirs: by so much a change of the response changes the throughput less.",
			100*own,
		)
	}
	return text
}

func claimTable(fs []ClaimResult) dialect.TextTable {
	t := dialect.TextTable{
		Title: "Published and here",
		Head:  []string{"Comparison", ">Published", ">Here", ">Blocks", "Outcome"},
	}
	for _, f := range fs {
		published, here := fmt.Sprintf("%.2f", f.Ratio), "–"
		if f.Vague {
			published = "“" + f.Figures + "”"
		}
		if f.N > 0 {
			here = f.here()
		}
		t.Rows = append(t.Rows, []string{f.Text, published, here, fmt.Sprint(f.N), string(f.Outcome)})
	}
	t.Notes = []string{
		"Ratios of the second variant's figure to the first's. Here: geometric mean over the blocks, 95 % interval. The published ones are of one run each.",
	}
	return t
}

func armTable(set Setting, runs []RunFigures) dialect.TextTable {
	t := dialect.TextTable{
		Title: "Stories by variant",
		Head: strings.Split("Variant|Database|Network|>Runs|>Per minute|>Mean ms, users|>service|"+
			">p50 ms, users|>service|>p95 ms, users|>service", "|"),
	}
	for _, a := range set.Arms {
		rs := of(runs, a.Name)
		cell := func(figure func(RunFigures) float64) string {
			v, lo, hi := mean(rs, figure)
			switch {
			case math.IsNaN(v):
				return "–"
			case math.IsNaN(lo):
				return number(v)
			}
			return fmt.Sprintf("%s [%s, %s]", number(v), number(lo), number(hi))
		}
		row := []string{a.Label, a.Server, a.Network, fmt.Sprint(len(rs)), cell(clientRate)}
		for _, of := range []func(Figures) float64{
			func(f Figures) float64 { return f.Mean },
			func(f Figures) float64 { return f.P50 },
			func(f Figures) float64 { return f.P95 },
		} {
			row = append(row, cell(func(r RunFigures) float64 { return of(r.Client) }),
				cell(func(r RunFigures) float64 { return of(r.Server) }))
		}
		t.Rows = append(t.Rows, row)
	}
	t.Notes = []string{
		"Geometric means over the runs with 95 % intervals. A percentile here is the mean of the runs' percentiles.",
	}
	return t
}

// number writes three significant digits, and large numbers with commas.
func number(v float64) string {
	if v >= 1000 {
		return thousands(v)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.*f", max(0, 2-int(math.Floor(math.Log10(v)))), v), ".")
}

func lawTable(set Setting, runs []RunFigures) dialect.TextTable {
	t := dialect.TextTable{
		Title: "Little's law",
		Head: strings.Split(
			"Variant|>Users|>Under way, users|>service|>Tolerance|>Own time per request|Holds", "|"),
	}
	for _, a := range set.Arms {
		rs := of(runs, a.Name)
		if len(rs) == 0 {
			continue
		}
		n := float64(len(rs))
		var users, under, inside, tolerance, own float64
		held := 0
		for _, r := range rs {
			users += float64(r.Law.Users) / n
			under += r.Law.InFlight() / n
			inside += r.Law.Inside() / n
			tolerance = max(tolerance, r.Law.Tolerance())
			own += float64(r.Law.OwnPerRequest().Microseconds()) / n
			if r.Law.Holds() {
				held++
			}
		}
		within := "–"
		if inside > 0 {
			within = fmt.Sprintf("%.3f", inside)
		}
		t.Rows = append(t.Rows, []string{
			a.Label,
			fmt.Sprintf("%.0f", users),
			fmt.Sprintf("%.3f", under),
			within,
			fmt.Sprintf("%.3f", tolerance),
			fmt.Sprintf("%.0f µs", own),
			fmt.Sprintf("%d of %d", held, len(rs)),
		})
	}
	t.Notes = []string{
		"Under way: throughput × mean response, over all operations; means over the runs. Tolerance: users × the longest response ÷ the measured time, the largest of the runs.",
	}
	return t
}

// charts are those that the study has shown: four of each variant, and two of all.
func charts(set Setting, runs []RunFigures) (out []dialect.Chart) {
	figures := []struct {
		name, title, unit string
		of                func(Curves) dialect.Curve
	}{
		{"throughput", "Stories per minute", "1/min", func(c Curves) dialect.Curve {
			return c.PerMinute
		}},
		{"mean", "Mean response", "ms", func(c Curves) dialect.Curve { return c.Mean }},
		{"median", "Median response", "ms", func(c Curves) dialect.Curve { return c.P50 }},
		{"p95", "95th percentile", "ms", func(c Curves) dialect.Curve { return c.P95 }},
	}
	curves := func(arm string, pick func(RunFigures) Curves, figure func(Curves) dialect.Curve) (list []dialect.Curve) {
		for _, r := range of(runs, arm) {
			if c := figure(pick(r)); len(c.T) > 0 {
				list = append(list, c)
			}
		}
		return list
	}
	over := func(r RunFigures) Curves { return r.Over }
	within := func(r RunFigures) Curves { return r.Within }
	for _, a := range set.Arms {
		for _, f := range figures {
			out = append(out, dialect.Chart{
				Name:  "study-" + a.Name + "-" + f.name,
				Title: f.title + ", " + a.Label,
				Unit:  f.unit,
				Lines: []dialect.ChartLine{{
					Label: "users",
					Index: 0,
					Runs:  curves(a.Name, over, f.of),
				}, {Label: "service", Index: 1, Runs: curves(a.Name, within, f.of)}},
			})
		}
	}
	for _, f := range figures[:2] {
		c := dialect.Chart{
			Name:  "study-summary-" + f.name,
			Title: f.title + ", all variants",
			Unit:  f.unit,
		}
		for i, a := range set.Arms {
			c.Lines = append(c.Lines, dialect.ChartLine{
				Label: a.Label,
				Index: i,
				Runs:  curves(a.Name, over, f.of),
			})
		}
		out = append(out, c)
	}
	return out
}
