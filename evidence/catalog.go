package evidence

import (
	"plimsoll/dialect"
	"plimsoll/judge/limiter"
)

// A Catalog holds the inputs of questions to stored runs beside the runs: the metrics of the
// servers under test, and the layout of pages. The zero Catalog knows no server.
type Catalog struct {
	// Dialects know the servers.
	Dialects dialect.Set
	// Boards returns the dashboards whose panels a run's pages show, by kind of page
	// ([Dashboards]). It may be nil.
	Boards func() (map[string]Board, error)
}

// Indicators returns the signs by which a limiter is found: every system's, and the dialects'
// servers'.
func (c *Catalog) Indicators() []limiter.Indicator {
	all := limiter.Indicators()
	for _, d := range c.Dialects {
		for _, x := range d.Indicators {
			rank := limiter.Saturation
			if x.Loss {
				rank = limiter.Loss
			}
			all = append(all, limiter.Indicator{
				Limiter: x.Limiter,
				Rank:    rank,
				What:    x.What,
				Query:   x.Query,
				Dose:    x.Dose,
				Limit:   x.Limit,
				Unit:    x.Unit,
			})
		}
	}
	return all
}

// own returns the names of a metric of the server's process: the names of the dialects, then the
// name that all Go programs use.
func (c *Catalog) own(metric string) []string {
	var out []string
	for _, d := range c.Dialects {
		if d.Metrics.Prefix != "" {
			out = append(out, d.Metrics.Prefix+metric)
		}
	}
	return append(out, metric)
}
