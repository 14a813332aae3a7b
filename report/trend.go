package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/judge/verdict"
	"plimsoll/record"
	"plimsoll/stats"
)

// TrendFormat is the version of the JSON form of a [TrendPart].
const TrendFormat = 1

// A ReleasePair is one comparison of two releases on one database: the supported users of each pair
// of runs.
type ReleasePair struct {
	Comparison string    // its id, or the file that it was read from
	Host       string    // the host, empty if unknown
	Time       time.Time // when it was made, zero if unknown
	Base, New  string    // the releases
	Database   string    // empty where it has no name
	Pairs      []verdict.Pair
	// Withheld is the reason why the verdict on the capacity was withheld ([verdict.Result]); empty
	// where it was not.
	Withheld string
	// NotComplete describes the end of a comparison that is not complete, beginning with a verb;
	// empty for one that is.
	NotComplete string
}

// alarmLinks is the number of comparisons in a row that make a change an alarm. One may have had a
// bad day, and along a chain of neighbors that day would stay in the levels of all later releases.
const alarmLinks = 2

// FromReleases makes the document of comparisons in the order of time. It changes nothing in them.
func FromReleases(all []ReleasePair) Document {
	d := &TrendPart{Format: TrendFormat, Level: 1 - stats.FixedAlpha, Alpha: stats.FixedAlpha}
	var databases []string
	for _, p := range all {
		if !slices.Contains(databases, p.Database) {
			databases = append(databases, p.Database)
		}
	}
	for _, name := range databases {
		var own []ReleasePair
		for _, p := range all {
			if p.Database == name {
				own = append(own, p)
			}
		}
		d.Databases = append(d.Databases, trendOf(name, own))
	}
	warn := func(database, format string, args ...any) {
		d.Warnings = append(d.Warnings, prefix(database)+fmt.Sprintf(format, args...))
	}
	for _, db := range d.Databases {
		if len(db.Chains) > 1 {
			warn(
				db.Database,
				"%d chains of releases that no comparison connects: nothing is said of one against another",
				len(db.Chains),
			)
		}
		for _, l := range db.LeftOut {
			warn(db.Database, "%s is left out: %s", l.Name, l.Value)
		}
	}
	for _, p := range all {
		if p.NotComplete != "" {
			warn(
				p.Database,
				"comparison %s is not complete (it %s): only the blocks that there are count",
				p.Comparison,
				p.NotComplete,
			)
		}
	}
	return Document{Trend: d}
}

func trendOf(database string, all []ReleasePair) TrendDatabase {
	out := TrendDatabase{Database: database, Chains: []TrendChain{}, Links: []TrendLink{},
		SD: Number(math.NaN())}
	var names []string         // in their order
	var samples []stats.Sample // as out.Links
	for _, p := range all {
		base, fresh := make([]float64, len(p.Pairs)), make([]float64, len(p.Pairs))
		bound := false
		for i, pair := range p.Pairs {
			base[i], fresh[i] = pair.Base, pair.New
			bound = bound || pair.BaseCensored || pair.NewCensored
		}
		s, err := stats.LogRatios(base, fresh)
		why := ""
		switch {
		case err != nil:
			why = err.Error()
		case len(p.Pairs) == 0:
			why = "it has no judged pair"
		case bound:
			why = "some of its searches found only a lower bound, and the ratio of a bound is unknown"
		case p.Withheld != "": // only the pairs that went well are left
			why = "its verdict on the supported users was withheld: " + p.Withheld
		case p.Base == p.New:
			why = "both of its arms are called " + p.Base
		}
		if why != "" {
			out.LeftOut = append(out.LeftOut, record.Row{Name: p.Comparison, Value: why})
			continue
		}
		out.Links = append(out.Links, trendLink(p, s, base, fresh))
		samples = append(samples, s)
		names = inOrder(names, p.Base, p.New)
	}
	var effects []float64
	for _, l := range out.Links {
		effects = append(effects, float64(l.Effect.Value))
	}
	if s, err := stats.NewSample(effects...); err == nil {
		out.SD = Number(s.SD())
	}
	whole := make([]stats.Link, len(samples))
	for i, l := range out.Links {
		whole[i] = stats.Link{From: slices.Index(names, l.Base), To: slices.Index(names, l.New),
			Pairs: samples[i]}
	}
	levels := stats.Chain(len(names), whole, 1-stats.FixedAlpha)
	for root := range names {
		var members []int
		for i, l := range levels {
			if l.Root == root {
				members = append(members, i)
			}
		}
		if len(members) > 0 {
			out.Chains = append(out.Chains, chainOf(names, members, levels, whole))
		}
	}
	return out
}

// inOrder puts the releases of a comparison into the order: a base that is new to it right before its
// new release, a new release at the end.
func inOrder(names []string, base, fresh string) []string {
	b, f := slices.Index(names, base), slices.Index(names, fresh)
	switch {
	case b < 0 && f < 0:
		return append(names, base, fresh)
	case b < 0:
		return slices.Insert(names, f, base)
	case f < 0:
		return append(names, fresh)
	}
	return names
}

func chainOf(names []string, members []int, levels []stats.ChainLevel,
	links []stats.Link) TrendChain {
	var c TrendChain
	number := map[int]int{} // of a node in the chain
	for k, i := range members {
		number[i] = k
		l := levels[i]
		r := TrendRelease{Release: names[i], Against: fromLogs(l.Estimate, l.Interval)}
		for _, x := range links {
			if x.From == i || x.To == i {
				r.Comparisons++
			}
		}
		c.Releases = append(c.Releases, r)
	}
	var own []stats.Link
	for _, l := range links {
		if _, ok := number[l.From]; ok {
			own = append(own, stats.Link{From: number[l.From], To: number[l.To], Pairs: l.Pairs})
		}
	}
	c.Places = len(stats.Candidates(len(members), own))
	for _, x := range stats.ChangePoints(len(members), own, stats.FixedAlpha) {
		c.Changes = append(c.Changes,
			TrendChange{Release: c.Releases[x.At].Release, Before: c.Releases[x.At-1].Release,
				P: Number(min(x.P, 1)), InRow: x.InRow, Alarm: x.InRow >= alarmLinks,
				Shift: fromLogs(x.Shift, x.Interval)})
	}
	return c
}

// fromLogs returns a difference of logarithms as a ratio minus one.
func fromLogs(v float64, ci stats.Interval) Delta {
	return *interval(math.Expm1(v), math.Expm1(ci.Lo), math.Expm1(ci.Hi))
}

func trendLink(p ReleasePair, s stats.Sample, base, fresh []float64) TrendLink {
	mean := func(v []float64) Number {
		sum := 0.0
		for _, x := range v {
			sum += math.Log(x)
		}
		return Number(math.Exp(sum / float64(len(v))))
	}
	return TrendLink{Comparison: p.Comparison, Host: p.Host, Time: p.Time, Base: p.Base, New: p.New,
		BaseUsers: mean(base), NewUsers: mean(fresh), Pairs: s.N(),
		Effect: fromLogs(s.Mean(), stats.TInterval(s, 1-stats.FixedAlpha))}
}

// csvRows has one line per release for other programs; ratios minus one, unknown values are empty.
func (d *TrendPart) csvRows() [][]string {
	rows := [][]string{{"database", "chain", "release", "against_first", "lo", "hi", "comparisons",
		"change", "change_lo", "change_hi", "change_p", "alarm"}}
	for _, db := range d.Databases {
		for k, c := range db.Chains {
			for _, r := range c.Releases {
				row := fields(
					db.Database,
					k+1,
					r.Release,
					r.Against.Value,
					r.Against.Lo,
					r.Against.Hi,
					r.Comparisons,
					"",
					"",
					"",
					"",
					"",
				)
				for _, x := range c.Changes {
					if x.Release == r.Release {
						row = append(
							row[:7],
							fields(x.Shift.Value, x.Shift.Lo, x.Shift.Hi, x.P, x.Alarm)...)
					}
				}
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// lines are the findings, a sentence each.
func (d *TrendPart) lines() []string {
	var out []string
	for _, db := range d.Databases {
		add := func(format string, args ...any) {
			out = append(out, prefix(db.Database)+fmt.Sprintf(format, args...))
		}
		if db.SD.Known() && db.SD > 0 {
			add(
				"the differences of %s have an sd of %s %%: noise, and what changed between releases.",
				count(len(db.Links), "comparison", "comparisons"),
				fixed(100*db.SD, 1),
			)
		}
		unsought := 0
		for _, c := range db.Chains {
			first, last := c.Releases[0], c.Releases[len(c.Releases)-1]
			spread := "no interval: a comparison on the way has fewer than three pairs"
			if last.Against.Lo.Known() {
				spread = trim(fixed(100*d.Level, 1)) + " % interval"
			}
			add("from %s to %s supported users changed by %s (%s).", first.Release, last.Release,
				last.Against.text(), spread)
			places := count(c.Places, "place", "places")
			for _, x := range c.Changes {
				add(
					"the level changes at %s, by %s against %s and before (p %s after adjusting for %s). %s.",
					x.Release,
					x.Shift.text(),
					x.Before,
					equals(qText(float64(x.P))),
					places,
					x.confirmed(),
				)
			}
			switch {
			case c.Places == 0:
				unsought++
			case len(c.Changes) == 0:
				add(
					"no change was found at any of %s between %s and %s, which does not mean that there was none.",
					places,
					first.Release,
					last.Release,
				)
			}
		}
		if unsought > 0 {
			add("no change is looked for in %d of %s: that takes comparisons of %d pairs.",
				unsought, count(len(db.Chains), "chain", "chains"), stats.MinPairs)
		}
	}
	return out
}

// confirmed states that a change is an alarm, or what would make it one.
func (c TrendChange) confirmed() string {
	if c.Alarm {
		return fmt.Sprintf("ALARM: %d comparisons in a row show it", c.InRow)
	}
	return fmt.Sprintf("No alarm yet: that takes %d comparisons in a row which show it; "+
		"compare %s or an earlier release with %s or a later one", alarmLinks, c.Before, c.Release)
}

// rounded writes a number with at most six decimals.
func rounded(v Number) string { return figure(math.Round(1e6*float64(v)) / 1e6) }

// OtavaCSV writes the comparisons on one database as Apache Otava reads a series: a line for each,
// in the order of time, with the difference of the new release in % as the metric. It returns an
// error if one of them has no time.
func OtavaCSV(w io.Writer, db TrendDatabase) error {
	rows := [][]string{{"time", "comparison", "base", "release", "difference", "base_users",
		"new_users"}}
	links := slices.SortedStableFunc(slices.Values(db.Links),
		func(a, b TrendLink) int { return a.Time.Compare(b.Time) })
	for _, l := range links {
		if l.Time.IsZero() {
			return fmt.Errorf(
				"comparison %s has no time, by which Otava orders: name it in a column time",
				l.Comparison,
			)
		}
		rows = append(rows, []string{
			l.Time.UTC().Format(time.RFC3339), l.Comparison, l.Base, l.New,
			rounded(100 * l.Effect.Value), rounded(l.BaseUsers), rounded(l.NewUsers),
		})
	}
	return writeCSV(w, rows)
}

// equals puts a sign before a number that has none.
func equals(p string) string {
	if strings.HasPrefix(p, "<") {
		return p
	}
	return "= " + p
}
