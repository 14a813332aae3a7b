package newsfeed_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/engine"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/newsfeed"
	"plimsoll/record"
	"plimsoll/run/trial"
)

// tiredFeed is a feed whose generator needs so long for the text of each story.
type tiredFeed struct {
	newsfeed.Feed
	needs time.Duration
}

func (f *tiredFeed) NewActor(env workload.Env, u *workload.User) (workload.Actor, error) {
	u.Content = rand.New(&tiredSource{needs: f.needs})
	return f.Feed.NewActor(env, u)
}

func (f *tiredFeed) NewServer(env workload.Env, u *workload.User) (workload.Server, error) {
	u.Content = rand.New(&tiredSource{needs: f.needs})
	return f.Feed.NewServer(env, u)
}

// tiredSource sleeps before the first of the numbers that are drawn at one moment.
type tiredSource struct {
	needs time.Duration
	last  time.Time
	n     uint64
}

func (s *tiredSource) Uint64() uint64 {
	if !time.Now().Equal(s.last) {
		time.Sleep(s.needs)
		s.last = time.Now()
	}
	s.n++
	return s.n << 40
}

// memoryServers dials servers that answer each request after so long, in memory.
func memoryServers(
	h http.Handler,
	dial, service time.Duration,
) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		time.Sleep(dial)
		here, there := net.Pipe()
		go func() {
			r := bufio.NewReader(there)
			for {
				req, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				w := httptest.NewRecorder()
				h.ServeHTTP(w, req)
				time.Sleep(service)
				resp := w.Result()
				resp.ContentLength = int64(w.Body.Len())
				if resp.Write(there) != nil {
					return
				}
			}
		}()
		return here, nil
	}
}

// echoFeed is a news feed that answers with the values of the request, as far as the dialect
// checks.
func echoFeed() http.Handler {
	var people atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case r.URL.Path == "/participant":
			fmt.Fprintf(
				w,
				`{"id":%s,%s`,
				strconv.FormatInt(people.Add(1), 10),
				strings.TrimPrefix(string(body), "{"),
			)
		case strings.HasSuffix(r.URL.Path, "/friends"):
			fmt.Fprintf(w, `{"id":1,%s`, strings.TrimPrefix(string(body), "{"))
		case r.URL.Path == "/outbound":
			fmt.Fprint(w, "[]")
		default:
			w.Write(body)
		}
	})
}

func feedEnv() workload.Env {
	return workload.Env{
		URL:      "http://feed.test",
		Seed:     7,
		Pace:     1,
		Timeout:  5 * time.Second,
		Registry: measure.NewRegistry(1),
	}
}

// quietHost is a host where nothing is amiss.
type quietHost struct{ busy float64 }

func (c *quietHost) Busy(string) (busy, total float64, err error) {
	c.busy++
	return c.busy / 10, c.busy, nil
}
func (*quietHost) Query(context.Context, string) (float64, bool, error) { return 0, false, nil }
func (*quietHost) Health(int, float64) map[string]trial.Reading {
	return map[string]trial.Reading{"core": {Value: 30}}
}
func (*quietHost) Failing() map[string]trial.Failure { return nil }

// The same generator in a run: its latencies are the server's, and the run is not valid.
func TestTheGeneratorsTimeInsideAnActionVoidsTheRun(t *testing.T) {
	for _, needs := range []time.Duration{0, 25 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			e := feedEnv()
			e.Dial = memoryServers(echoFeed(), 0, time.Millisecond)
			feed := &tiredFeed{needs: needs}
			if err := feed.Provision(t.Context(), e, 1); err != nil {
				t.Fatal(err)
			}
			w, err := record.Create(filepath.Join(t.TempDir(), "run"), record.Manifest{ID: "t"})
			if err != nil {
				t.Fatal(err)
			}
			epoch := time.Now()
			l, err := engine.New(t.Context(), engine.Config{
				Env:   e,
				Mix:   []engine.Part{{Behavior: feed, Share: 1}},
				Clock: clock.New(epoch),
			})
			if err != nil {
				t.Fatal(err)
			}
			out, err := trial.Run(t.Context(), trial.Config{
				Window:   1500 * time.Millisecond,
				Timeout:  5 * time.Second,
				Clock:    clock.New(epoch),
				Registry: e.Registry,
				Signals:  new(quietHost),
				Writer:   w,
				Driver:   l,
				Bounded: &trial.BoundedTest{
					Users:   10,
					Ramp:    time.Second,
					Settle:  time.Second,
					Measure: 8 * time.Second,
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			red := ""
			for _, f := range out.Validity.Findings {
				if f.Level == record.Red {
					red += f.Gate + " "
				}
			}
			if want := map[bool]string{
				true:  "lag late ",
				false: "",
			}[needs > 0]; red != want || out.Validity.Valid != (needs == 0) {
				t.Errorf(
					"the generator needs %v: valid %v, red gates %q, want %q",
					needs,
					out.Validity.Valid,
					red,
					want,
				)
			}
			if _, err := w.Seal(t.Context(), out.Validity, out.Interrupted); err != nil {
				t.Fatal(err)
			}
			r, err := record.Open(w.Dir())
			if err != nil {
				t.Fatal(err)
			}
			ws, err := r.Merged(2*time.Second, 10*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			if s := ws["story"]; s == nil || s.Response.Max() != time.Millisecond ||
				s.Lag.Count() != s.Count() ||
				s.Lag.Min() != needs {
				t.Errorf("the generator needs %v: stories of the stored run: %+v", needs, s)
			}
		})
	}
}

// A server that answers in 1 ms, and a generator that needs 20 ms before each story: the story's
// response is 1 ms, and 20 ms are lag, whether the story is inside an action (a batch of an
// arrival) or an action by itself, without a pause before it. A dial of 7 ms is wait.
func TestTheGeneratorsTimeInsideAnActionIsLag(t *testing.T) {
	const service, needs, dials = time.Millisecond, 20 * time.Millisecond, 7 * time.Millisecond
	for _, arrivals := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			e := feedEnv()
			e.Dial = memoryServers(echoFeed(), dials, service)
			feed := &tiredFeed{needs: needs}
			if err := feed.Provision(t.Context(), e, 1); err != nil {
				t.Fatal(err)
			}
			e.Registry.Cut()
			cfg := engine.Config{
				Env:   e,
				Mix:   []engine.Part{{Behavior: feed, Share: 1}},
				Clock: clock.New(time.Now()),
			}
			if arrivals {
				cfg.Arrivals = &engine.Arrivals{Behavior: feed, Rate: 0.2, InFlight: 1, Queue: 10}
			}
			l, err := engine.New(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			if !arrivals {
				if err := l.SetUsers(1, 0); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(21 * time.Second)
			l.Stop(time.Second)
			seen := map[string]*measure.Window{}
			for _, w := range e.Registry.Cut() {
				seen[w.Name] = w
			}
			for name, want := range map[string][2]time.Duration{
				"story":       {needs, 0},
				"participant": {0, dials},
				"befriend":    {0, 0},
			} {
				w := seen[name]
				if w == nil || w.Count() < 10 || w.Errors() > 0 {
					t.Fatalf("arrivals %v: %s: %+v", arrivals, name, w)
				}
				lag, wait := want[0], want[1]
				if w.Lag.Count() != w.Count() || w.Lag.Min() != lag || w.Lag.Max() != lag {
					t.Errorf(
						"arrivals %v: %s: lags of %d of %d operations, %v to %v; want %v for each",
						arrivals,
						name,
						w.Lag.Count(),
						w.Count(),
						w.Lag.Min(),
						w.Lag.Max(),
						lag,
					)
				}
				if w.Service.Max() != service || w.Response.Max() != service+wait ||
					w.Response.Min() != service {
					t.Errorf(
						"arrivals %v: %s: service %v, response %v to %v, want %v and up to %v for the one dial",
						arrivals,
						name,
						w.Service.Max(),
						w.Response.Min(),
						w.Response.Max(),
						service,
						wait,
					)
				}
			}
		})
	}
}
