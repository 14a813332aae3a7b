package health

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/workload"
	"plimsoll/record"
	"plimsoll/run/trial"
	"plimsoll/watch/probe"
)

// sharesGate is the name of the gate that [Shares] reads.
const sharesGate = "shares"

const (
	sharesOver  = 10 * time.Second // how far back requests are counted
	sharesLeast = 4 * time.Second  // the least stretch that a part is taken of
	sharesFew   = 100              // requests for each server that a part is taken of
	// sharesVary is the assumed spread of users: the number of requests of one varies by a quarter.
	sharesVary = 0.25
	// sharesLate is the greatest delay of a page of metrics, the same as for the rule that every
	// probe has data.
	sharesLate = 5 * time.Second
)

// Servers are the servers of a target that share its users.
type Servers struct {
	Addresses int       // that users are spread over; 1 may be a proxy
	Instances int       // servers that are known to run, also behind a proxy
	Pages     []string  // of the servers' metrics, in the order of the servers
	Requests  string    // the metric that counts a server's requests; "" if it has none
	Behaviors []float64 // shares of the users
}

// Shares compares the requests that each server of a target counted with its part of the users. Its
// methods may be called from several goroutines.
type Shares struct {
	servers Servers
	clock   *clock.Clock

	mu     sync.Mutex
	counts map[string][]requestCount // by instance, oldest first
	users  int                       // of want
	want   []float64
}

// A requestCount is a server's counter of requests, read at an offset from the run's epoch.
type requestCount struct {
	at time.Duration
	n  float64
}

// NewShares begins to compare, in the time of a run.
func NewShares(s Servers, run *clock.Clock) *Shares {
	return &Shares{servers: s, clock: run, counts: map[string][]requestCount{}}
}

// Watch returns a scraper that shows s the counts on its pages, if it is a scraper of an app. s may
// be nil.
func (s *Shares) Watch(sc probe.Scraper) probe.Scraper {
	if s == nil || s.servers.Requests == "" || sc.Labels()["role"] != "app" {
		return sc
	}
	return countedScraper{sc, s}
}

type countedScraper struct {
	probe.Scraper
	to *Shares
}

// Scrape implements [probe.Scraper].
func (c countedScraper) Scrape(ctx context.Context) (body []byte, contentType string, err error) {
	body, contentType, err = c.Scraper.Scrape(ctx)
	if err == nil {
		if n, ok := counterOf(body, c.to.servers.Requests); ok {
			c.to.add(c.Labels()["instance"], n)
		}
	}
	return body, contentType, err
}

// counterOf returns the sum of a metric's series on a page in Prometheus's text format.
func counterOf(page []byte, metric string) (sum float64, ok bool) {
	for line := range bytes.Lines(page) {
		rest, is := bytes.CutPrefix(line, []byte(metric))
		if !is || len(rest) == 0 || rest[0] != ' ' && rest[0] != '{' {
			continue
		}
		if rest[0] == '{' {
			_, rest, _ = bytes.Cut(rest, []byte("} "))
		}
		f := bytes.Fields(rest)
		if len(f) == 0 {
			continue
		}
		if v, err := strconv.ParseFloat(string(f[0]), 64); err == nil {
			sum, ok = sum+v, true
		}
	}
	return sum, ok
}

func (s *Shares) add(instance string, n float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	list := append(s.counts[instance], requestCount{now, n})
	for len(list) > 2 && list[1].at <= now-sharesOver {
		list = list[1:]
	}
	s.counts[instance] = slices.Clip(list)
}

// read returns the difference, in points, between the worst server's part of the requests and its
// part of the users, as far as chance does not explain it. A server that no longer shows its
// counts, while others do, counts none.
func (s *Shares) read(users int) trial.Reading {
	if s == nil {
		return trial.NoNeed("the target has one server")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	names, all := slices.Sorted(maps.Keys(s.counts)), s.number()
	switch {
	case all < 2:
		return trial.NoNeed(
			"the target has one server, or one address and no server's own count of requests",
		)
	case len(slices.Compact(slices.Sorted(slices.Values(s.servers.Pages)))) < len(s.servers.Pages):
		return trial.Unread("several servers have one page of metrics (target.metrics_url)")
	case s.servers.Requests == "" || len(names) == 0:
		return trial.Unread("the servers' own counts of requests are not seen (target.metrics_url)")
	case len(names) < all || s.servers.Addresses > 1 && len(names) > s.servers.Addresses:
		known := max(s.servers.Addresses, s.servers.Instances, len(s.servers.Pages))
		return trial.Unread("%d servers show how many requests they counted, of %d%s",
			len(names), known, s.silent())
	}
	rates, why := s.rates(names)
	if why != "" {
		return trial.Reading{Why: why}
	}
	sum := 0.0
	for _, r := range rates {
		sum += r
	}
	requests := sum * sharesOver.Seconds()
	if requests < float64(sharesFew*len(names)) {
		return trial.Unread(
			"%.0f requests in %v are too few, want %d",
			requests,
			sharesOver,
			sharesFew*len(names),
		)
	}
	want := s.parts(users, len(names))
	out, farthest := trial.Reading{}, -1.0
	for i, name := range names {
		got := rates[i] / sum
		d := math.Abs(got - want[i])
		if got < want[i] {
			d += 1e-9 // of two servers both are as far away: the one that has too little is named
		}
		if d > farthest {
			farthest = d
			out.Value = 100 * max(0, d-byChance(want[i], requests, users))
			out.Note = fmt.Sprintf(
				"%s counted %.1f %% of the requests, and its part of the users is %.1f %%",
				s.shown(name),
				100*got,
				100*want[i],
			)
			if age := s.clock.Now() - s.last(name); age > fresh {
				out.Note += fmt.Sprintf("; it has shown no count for %.0f s", age.Seconds())
			}
		}
	}
	return out
}

// number returns the number of servers, as far as it is known. The lock is held.
func (s *Shares) number() int {
	return max(s.servers.Addresses, s.servers.Instances, len(s.servers.Pages), len(s.counts))
}

// silent names the first server with a page of metrics that has shown no count, as the end of a
// clause. The lock is held.
func (s *Shares) silent() string {
	for i := range s.servers.Pages {
		if name := fmt.Sprint("app-", i); len(s.counts[name]) == 0 {
			return ", and none by " + s.shown(name)
		}
	}
	return ""
}

// last returns the time at which an instance last showed its count. The lock is held.
func (s *Shares) last(name string) time.Duration {
	list := s.counts[name]
	return list[len(list)-1].at
}

// byChance returns two standard deviations of a part of the requests from the part p of the users.
func byChance(p, requests float64, users int) float64 {
	v := 1 / requests
	if users > 0 {
		v += sharesVary * sharesVary / float64(users)
	}
	return 2 * math.Sqrt(p*(1-p)*v)
}

// rates returns the requests per second that the servers counted, or why they are not known. The
// lock is held.
func (s *Shares) rates(names []string) (out []float64, why string) {
	now := s.clock.Now()
	if !slices.ContainsFunc(names, func(name string) bool { return now-s.last(name) <= fresh }) {
		return nil, fmt.Sprintf("no server has shown its count for more than %v", fresh)
	}
	for _, name := range names {
		list := s.counts[name]
		from, to := list[0], list[len(list)-1]
		switch until := to.at; {
		case to.n < from.n:
			return nil, s.shown(name) + " counts from zero again"
		case now-until <= fresh:
			if until-from.at < sharesLeast {
				return nil, fmt.Sprintf(
					"%s was watched for less than %v",
					s.shown(name),
					sharesLeast,
				)
			}
			out = append(out, (to.n-from.n)/(until-from.at).Seconds())
		case now-until <= sharesLate:
			return nil, fmt.Sprintf("%s has shown no count for %v", s.shown(name), fresh)
		default: // it has stopped, at the latest when it was read last
			out = append(out, max(0, to.n-from.n)/(now-from.at).Seconds())
		}
	}
	return out, ""
}

// parts returns the parts of the users that n servers have. The lock is held.
func (s *Shares) parts(users, n int) []float64 {
	if s.want != nil && s.users == users && len(s.want) == n {
		return s.want
	}
	s.users, s.want = users, make([]float64, n)
	for i := range s.want {
		s.want[i] = 1 / float64(n)
	}
	if users > 0 && n == s.servers.Addresses && n == len(s.servers.Pages) {
		for i, has := range workload.Spread(users, n, s.servers.Behaviors...) {
			s.want[i] = float64(has) / float64(users)
		}
	}
	return s.want
}

// shown names an instance with its address, as far as that is known.
func (s *Shares) shown(instance string) string {
	for i, page := range s.servers.Pages {
		if u, err := url.Parse(page); err == nil && instance == fmt.Sprint("app-", i) {
			return instance + " (" + u.Host + ")"
		}
	}
	return instance
}

// Finding returns the amber finding of a run whose gate was not measured although it applies: a run
// that ended before the first reading has one only with several servers.
func (s *Shares) Finding(gates []record.GateOutcome) []record.Finding {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.number() < 2 {
		return nil
	}
	for _, g := range gates {
		if g.Name == sharesGate && g.Level == record.NotMeasured {
			return []record.Finding{{Gate: sharesGate, Level: record.Amber,
				Text: "whether each server of the target had its part of the load is not known: " +
					g.Why}}
		}
	}
	return nil
}
