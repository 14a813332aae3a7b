package health

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/clock"
	"plimsoll/record"
	"plimsoll/watch/probe"
)

// metricsPage is the page of an app's metrics.
type metricsPage struct {
	probe.Scraper
	instance string
	n        float64
	down     bool
}

func (p *metricsPage) Labels() map[string]string {
	return map[string]string{"role": "app", "instance": p.instance}
}

func (p *metricsPage) Scrape(context.Context) ([]byte, string, error) {
	if p.down {
		return nil, "", context.DeadlineExceeded
	}
	return fmt.Appendf(
		nil,
		"# TYPE requests_total counter\nrequests_total{code=\"2xx\"} %v\nrequests_total{code=\"4xx\"} 1 # {trace=\"a\"} 1\nrequests_total_other 7\n",
		p.n,
	), "text/plain", nil
}

// TestShares feeds the gate with servers' counters and checks the points and the server that it
// names.
func TestShares(t *testing.T) {
	for _, tt := range []struct {
		name     string
		servers  int
		users    int
		rates    []float64 // requests per second, by server
		down     int       // seconds before the end at which the last server stops; 0: never
		from, to float64   // points
		note     string
	}{
		{"even", 2, 400, []float64{500, 500}, 0, 0, 0, "50.0 % of the requests"},
		{"all to the first", 2, 400, []float64{1000, 0}, 0, 45, 50, "app-1 (b:1) counted 0.0 %"},
		{"a third, behind a proxy", 1, 400, []float64{660, 340}, 0, 13, 16, "app-1"},
		{"one of three", 3, 300, []float64{450, 450, 100}, 0, 20, 24, "app-2 (c:1) counted 10.0 % of the requests, and its part of the users is 33.3 %"},
		{"one stopped", 2, 400, []float64{500, 500}, 8, 17, 50, "it has shown no count for"},
		{"few users", 2, 5, []float64{150, 100}, 0, 0, 0, ""}, // three and two
	} {
		synctest.Test(t, func(t *testing.T) {
			s := NewShares(Servers{
				Requests:  "requests_total",
				Addresses: tt.servers,
				Behaviors: []float64{0.9, 0.1},
			}, clock.New(time.Now()))
			var pages []*metricsPage
			var scrapers []probe.Scraper
			for i := range tt.rates {
				s.servers.Pages = append(s.servers.Pages, fmt.Sprintf("http://%c:1/metrics", 'a'+i))
				pages = append(pages, &metricsPage{instance: fmt.Sprint("app-", i), n: 1000})
				scrapers = append(scrapers, s.Watch(pages[i]))
			}
			const seconds = 15
			for second := range seconds {
				for i, p := range pages {
					p.down = i == len(pages)-1 && second >= seconds-tt.down
					_, _, _ = scrapers[i].Scrape(t.Context())
					p.n += tt.rates[i]
				}
				time.Sleep(time.Second)
			}
			rd := s.read(tt.users)
			if rd.Why != "" || rd.Value < tt.from || rd.Value > tt.to ||
				!strings.Contains(rd.Note, tt.note) {
				t.Errorf(
					"%s: %+v, want %v to %v points and %q",
					tt.name,
					rd,
					tt.from,
					tt.to,
					tt.note,
				)
			}
			time.Sleep(fresh + time.Second)
			if rd := s.read(tt.users); !strings.Contains(rd.Why, "no server has shown its count") {
				t.Errorf("%s, then nothing: %+v", tt.name, rd)
			}
		})
	}
}

// TestSharesUnseen checks what is not measured, and what does not apply.
func TestSharesUnseen(t *testing.T) {
	none := map[string][]requestCount{}
	for _, tt := range []struct {
		s    *Shares
		na   bool
		want string
	}{
		{nil, true, "one server"},
		{&Shares{
			servers: Servers{Addresses: 1, Requests: "m", Pages: []string{"http://a"}},
			counts:  map[string][]requestCount{"app-0": {{0, 1}}},
		}, true, "one server"},
		{&Shares{
			servers: Servers{Addresses: 2, Requests: "m"},
			counts:  none,
		}, false, "are not seen"},
		{&Shares{
			servers: Servers{Addresses: 2, Pages: []string{"http://a", "http://b"}},
			counts:  none,
		}, false, "are not seen"},
		{&Shares{
			servers: Servers{Addresses: 2, Requests: "m", Pages: []string{"http://a", "http://b"}},
			counts:  map[string][]requestCount{"app-0": {{0, 1}}},
		}, false, "1 servers show how many requests they counted, of 2, and none by app-1 (b)"},
		// behind a proxy
		{&Shares{
			servers: Servers{Addresses: 1, Instances: 2, Requests: "m"},
			counts:  none,
		}, false, "are not seen"},
		{&Shares{
			servers: Servers{Addresses: 1, Instances: 2, Requests: "m"},
			counts:  map[string][]requestCount{"app-0": {{0, 1}}},
		}, false, "1 servers show how many requests they counted, of 2"},
		{&Shares{
			servers: Servers{Addresses: 2, Requests: "m", Pages: []string{"http://a", "http://a"}},
			counts:  map[string][]requestCount{"app-0": {{0, 1}}, "app-1": {{0, 1}}},
		}, false, "one page of metrics"},
	} {
		if rd := tt.s.read(10); rd.Inapplicable != tt.na || !strings.Contains(rd.Why, tt.want) {
			t.Errorf("%+v: %+v, want %q", tt.s, rd, tt.want)
		}
	}
	gates := []record.GateOutcome{{Name: sharesGate, Level: record.NotMeasured, Why: "it was dark"}}
	for _, one := range []*Shares{nil, {servers: Servers{Addresses: 1, Instances: 1}}} {
		if f := one.Finding(gates); len(f) > 0 {
			t.Errorf("one server: %+v", f)
		}
	}
	two := &Shares{servers: Servers{Addresses: 1, Instances: 2}}
	if f := two.Finding(gates); len(f) != 1 || f[0].Level != record.Amber ||
		!strings.Contains(f[0].Text, "it was dark") {
		t.Errorf("not measured: %+v", f)
	}
	gates[0].Level = record.NotApplicable
	if f := two.Finding(gates); len(f) > 0 {
		t.Errorf("not applicable: %+v", f)
	}
}

// TestSharesOfALatePage: a late page of metrics does not mean that a server has stopped.
func TestSharesOfALatePage(t *testing.T) {
	for _, tt := range []struct {
		late  time.Duration
		value bool
		want  string
	}{
		{2 * time.Second, true, ""},
		{4 * time.Second, false, "app-1 (b:1) has shown no count for 3s"},
		{6 * time.Second, true, "app-1 (b:1) counted"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := NewShares(Servers{
				Requests:  "m",
				Addresses: 2,
				Pages:     []string{"http://a:1/m", "http://b:1/m"},
				Behaviors: []float64{1},
			}, clock.New(time.Now()))
			for second := range 12 {
				s.add("app-0", 1000*float64(second))
				if time.Duration(second)*time.Second <= 11*time.Second-tt.late {
					s.add("app-1", 1000*float64(second))
				}
				if second < 11 {
					time.Sleep(time.Second)
				}
			}
			rd := s.read(400)
			if text := rd.Why + rd.Note; (rd.Why == "") != tt.value ||
				!strings.Contains(text, tt.want) ||
				tt.late == 2*time.Second && rd.Value > 2 {
				t.Errorf("late by %v: %+v", tt.late, rd)
			}
		})
	}
}
