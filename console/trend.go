package console

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/evidence"
	"plimsoll/internal/plain"
	"plimsoll/record"
	"plimsoll/report"
)

const (
	// trendWithin bounds the time in which comparisons are judged for one answer; the rest are
	// judged for the next one.
	trendWithin = 10 * time.Second
	// mostReleases bounds the comparisons whose numbers are kept.
	mostReleases = 1000
)

// A trendLine is one of the Trend of the contract: the releases of a chain on one database.
type trendLine struct {
	Plan     string       `json:"plan"`
	Engine   string       `json:"engine,omitempty"`
	Endpoint string       `json:"endpoint"`
	Unit     string       `json:"unit"`
	Points   []trendPoint `json:"points"`
}

type trendPoint struct {
	At      time.Time `json:"at"`
	Value   float64   `json:"value"`
	Lo      *float64  `json:"lo,omitempty"`
	Hi      *float64  `json:"hi,omitempty"`
	Version string    `json:"version"`
	ID      string    `json:"id"`
	// Change is the change of the level from here on, in percent; nil where no change was found.
	Change *float64 `json:"change,omitempty"`
}

// A released comparison has the numbers of its capacity, for the trend.
type released struct {
	plan    string
	began   time.Time
	pairs   []report.ReleasePair
	problem string // why it cannot be judged; empty when it can
}

// releases judges the comparisons of the store that are over, in the order of time. Those that
// cannot be judged, and those for which the time of ctx was too short, are in the warnings.
func (s *Console) releases(ctx context.Context, plan string) (all []released, warnings []string) {
	found, _ := os.ReadDir(filepath.Join(s.store.Root(), "comparisons"))
	left := 0
	for _, d := range found {
		if !wholeID(d.Name()) {
			continue
		}
		r, err := s.trends.of(
			filepath.Join(s.store.ComparisonDir(d.Name()), comparisonFile),
			func() (released, error) {
				if err := ctx.Err(); err != nil {
					return released{}, err
				}
				r, err := s.releasesOf(d.Name())
				if err != nil { // as long as the file is the same
					r.problem = plain.Error(err)
				}
				return r, nil
			},
		)
		switch {
		case ctx.Err() != nil && err != nil:
			left++
		case err != nil:
			warnings = append(warnings, plain.Error(err))
		case r.problem != "":
			warnings = append(warnings, r.problem)
		case len(r.pairs) > 0 && (plan == "" || r.plan == plan):
			all = append(all, r)
		}
	}
	if left > 0 {
		warnings = append(
			warnings,
			fmt.Sprintf("%d comparisons are not judged yet: load this again", left),
		)
	}
	slices.SortStableFunc(all, func(a, b released) int { return a.began.Compare(b.began) })
	return all, warnings
}

// releasesOf judges a comparison; of one that is not over it returns nothing.
func (s *Console) releasesOf(id string) (r released, err error) {
	c, err := s.store.Comparison(id)
	if err != nil || c.State == record.Running {
		return r, err
	}
	r = released{plan: c.Name, began: c.Started}
	p, err := evidence.PlanOf(c)
	if err != nil {
		return r, err
	}
	r.pairs, err = evidence.Releases(c, p, s.store.Run)
	return r, err
}

// trend answers the supported users of releases, as plimsoll report trend has them: each against
// the first one of its chain, by ratios within comparisons. Plans of one name are one trend.
func (s *Console) trend(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), trendWithin)
	defer cancel()
	select {
	case s.trending <- struct{}{}: // one at a time: the next one finds them judged
		defer func() { <-s.trending }()
	case <-ctx.Done():
		refuse(
			w,
			http.StatusTooManyRequests,
			"the comparisons are being judged for another request; ask again",
		)
		return
	}
	all, warnings := s.releases(ctx, r.URL.Query().Get("plan"))
	lines := []trendLine{}
	var plans []string
	for _, c := range all {
		if !slices.Contains(plans, c.plan) {
			plans = append(plans, c.plan)
		}
	}
	slices.Sort(plans)
	for _, plan := range plans {
		one, more := trendOf(plan, slices.DeleteFunc(slices.Clone(all), func(c released) bool {
			return c.plan != plan
		}))
		lines = append(lines, one...)
		for _, text := range more {
			warnings = append(warnings, plan+": "+text)
		}
	}
	answer(w, map[string]any{"lines": lines, "warnings": append([]string{}, warnings...)})
}

// trendOf returns the lines of the comparisons of one plan, which are in the order of time.
func trendOf(plan string, all []released) (out []trendLine, warnings []string) {
	var pairs []report.ReleasePair
	for _, c := range all {
		pairs = append(pairs, c.pairs...)
	}
	d := report.FromReleases(pairs).Trend
	for _, db := range d.Databases {
		for _, chain := range db.Chains {
			base := chain.Releases[0].Release
			l := trendLine{
				Plan:     plan,
				Engine:   db.Database,
				Endpoint: "supported users against " + base,
				Unit:     "%",
				Points:   []trendPoint{},
			}
			for _, rel := range chain.Releases {
				first := db.Links[slices.IndexFunc(db.Links, func(l report.TrendLink) bool {
					return l.Base == rel.Release || l.New == rel.Release
				})]
				p := trendPoint{
					At:      first.Time,
					ID:      first.Comparison,
					Version: rel.Release,
					Value:   100 * float64(rel.Against.Value),
					Lo:      percent(rel.Against.Lo),
					Hi:      percent(rel.Against.Hi),
				}
				for _, x := range chain.Changes {
					if x.Release == rel.Release {
						p.Change = percent(x.Shift.Value)
					}
				}
				l.Points = append(l.Points, p)
			}
			out = append(out, l)
		}
	}
	for _, text := range d.Warnings {
		warnings = append(warnings, strings.TrimSpace(text))
	}
	return out, warnings
}

// percent is a fraction in percent; nil for one that is not known.
func percent(v report.Number) *float64 {
	if !v.Known() {
		return nil
	}
	p := 100 * float64(v)
	return &p
}
