package remote

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/util/compression"

	"plimsoll/internal/failure"
)

// server is a remote write endpoint in memory.
type server struct {
	mu      sync.Mutex
	answer  func(request int) (*http.Response, error) // nil: 204
	times   []time.Time
	headers http.Header
	got     map[string][]prompb.Sample
	series  [][]prompb.Label
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times = append(s.times, time.Now())
	s.headers = r.Header
	if s.answer != nil {
		if res, err := s.answer(len(s.times)); res != nil || err != nil {
			return res, err
		}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	raw, err := compression.Decode(compression.Snappy, body, compression.NewSyncDecodeBuffer())
	if err != nil {
		return nil, err
	}
	var req prompb.WriteRequest
	if err := req.Unmarshal(raw); err != nil {
		return nil, err
	}
	if s.got == nil {
		s.got = map[string][]prompb.Sample{}
	}
	for _, ts := range req.Timeseries {
		s.series = append(s.series, ts.Labels)
		key := fmt.Sprint(ts.Labels)
		s.got[key] = append(s.got[key], ts.Samples...)
	}
	return reply(204, ""), nil
}

func reply(status int, body string, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{
		StatusCode: status,
		Status:     fmt.Sprint(status, " ", http.StatusText(status)),
		Header:     h,
		Body:       io.NopCloser(strings.NewReader(body)),
	}
}

// always answers each request so.
func always(res *http.Response, err error) func(int) (*http.Response, error) {
	return func(int) (*http.Response, error) { return res, err }
}

func batch(names ...string) (int, iter.Seq2[labels.Labels, float64]) {
	return len(names), func(yield func(labels.Labels, float64) bool) {
		for i, n := range names {
			if !yield(labels.FromStrings("__name__", n, "zone", "z"), float64(i)) {
				return
			}
		}
	}
}

func start(t *testing.T, srv http.RoundTripper, c Config) *Sender {
	t.Helper()
	if c.URL == "" {
		c.URL = "http://metrics.example/api/v1/write"
	}
	c.transport = srv
	s, err := New(c)
	failure.None(t, err)
	return s
}

func offer(s *Sender, at time.Time, names ...string) {
	n, seq := batch(names...)
	s.Offer(at, n, seq)
}

func TestDelivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := new(server)
		s := start(t, srv, Config{
			Authorization: "Bearer t0ken",
			Labels:        map[string]string{"run": "r1", "zone": "mine", "arm": ""},
		})
		began := time.Now()
		for i := range 3 {
			offer(s, time.UnixMilli(int64(i)), "a", "b")
		}
		time.Sleep(1100 * time.Millisecond)
		if st := s.Stats(); st.Sent != 6 || st.Requests != 1 {
			t.Errorf("after a second: %+v", st)
		}
		offer(s, time.UnixMilli(9), "c")
		if st := s.Close(t.Context()); st.Sent != 7 || st.Lost != 0 || st.Err != nil {
			t.Errorf("at the end: %+v", st)
		}
		if d := srv.times[0].Sub(began); d != interval {
			t.Errorf("sent after %v, want %v", d, interval)
		}
		want := []prompb.Label{{
			Name:  "__name__",
			Value: "a",
		}, {Name: "run", Value: "r1"}, {Name: "zone", Value: "z"}}
		if fmt.Sprint(srv.series[0]) != fmt.Sprint(want) {
			t.Errorf("labels %v, want %v: sorted, and the series' own win", srv.series[0], want)
		}
		if got := srv.got[fmt.Sprint(want)]; len(got) != 3 || got[2].Timestamp != 2 {
			t.Errorf("samples of a: %v", got)
		}
		for name, want := range map[string]string{
			"Content-Type":                      "application/x-protobuf",
			"Content-Encoding":                  "snappy",
			"X-Prometheus-Remote-Write-Version": "0.1.0",
			"Authorization":                     "Bearer t0ken",
		} {
			if got := srv.headers.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		offer(s, time.UnixMilli(10), "late")
		if st := s.Stats(); st.Lost != 1 {
			t.Errorf("after Close: %+v", st)
		}
	})
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name                 string
		answer               func(int) (*http.Response, error)
		sent, lost, requests uint64
		why                  string
		told                 string
	}{
		{"comes back", func(n int) (*http.Response, error) {
			if n < 4 {
				return reply(503, "overloaded"), nil
			}
			return nil, nil
		}, 2, 0, 4, "", "failed, well"},
		{"asks for patience", func(n int) (*http.Response, error) {
			if n < 2 {
				return reply(429, "", "Retry-After", "7"), nil
			}
			return nil, nil
		}, 2, 0, 2, "", "failed, well"},
		{"asks for too much patience", always(reply(429, "", "Retry-After", "600"), nil), 0, 2, 1, "given up after 0s: http://metrics.example/api/v1/write answered 429", "failed"},
		{"refuses", always(reply(400, "out of\norder  sample"), nil), 0, 2, 1, "answered 400 Bad Request: out of order sample", "failed"},
		{"redirects", always(reply(302, "", "Location", "http://evil.example"), nil), 0, 2, 1, "answered 302", "failed"},
		{"is not there", always(nil, errors.New("connection refused")), 0, 2, 10, "given up after 28s: http://metrics.example/api/v1/write: connection refused", "failed"},
		{"repeats the token", always(reply(401, "bad token s3cret"), nil), 0, 2, 1, "answered 401 Unauthorized", "failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told []string
				srv := &server{answer: c.answer}
				s := start(t, srv, Config{
					URL:           "http://metrics.example/api/v1/write?key=s3cret",
					Authorization: "Bearer s3cret",
					Failed: func(err error) {
						if err == nil {
							told = append(told, "well")
						} else {
							told = append(told, "failed")
							if strings.Contains(err.Error(), "s3cret") {
								t.Errorf("a secret in %v", err)
							}
						}
					},
				})
				offer(s, time.UnixMilli(1), "a", "b")
				time.Sleep(2 * time.Minute)
				st := s.Close(t.Context())
				if st.Sent != c.sent || st.Lost != c.lost || st.Requests != c.requests {
					t.Errorf(
						"%+v, want %d sent, %d lost in %d requests",
						st,
						c.sent,
						c.lost,
						c.requests,
					)
				}
				if got := fmt.Sprint(st.Err); c.why != "" &&
					!strings.Contains(strings.ReplaceAll(got, "?...", ""), c.why) ||
					strings.Contains(got, "s3cret") {
					t.Errorf("lost because %q, want %q", got, c.why)
				}
				if got := strings.Join(told, ", "); got != c.told {
					t.Errorf("told %q, want %q", got, c.told)
				}
				if len(srv.times) == 2 && srv.times[1].Sub(srv.times[0]) != 7*time.Second {
					t.Errorf("second request after %v", srv.times[1].Sub(srv.times[0]))
				}
			})
		})
	}
}

// hung never answers.
type hung struct{}

func (hung) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestNeverInTheWay: with an endpoint that hangs, memory is bounded, Offer returns at once, and
// Close keeps its deadline.
func TestNeverInTheWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, hung{}, Config{queue: 1000, batch: 100})
		names := make([]string, 100)
		for i := range names {
			names[i] = fmt.Sprint("m", i)
		}
		began := time.Now()
		for i := range 50 {
			offer(s, time.UnixMilli(int64(i)), names...)
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("offering took %v", d)
		}
		s.mu.Lock()
		if len(s.queue) > 1000 || cap(s.queue) > 2000 {
			t.Errorf("%d samples in the queue of capacity %d", len(s.queue), cap(s.queue))
		}
		s.mu.Unlock()
		time.Sleep(5 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		st := s.Close(ctx)
		if d := time.Since(began); d != 7*time.Second {
			t.Errorf("closed after %v, want 7 s", d)
		}
		if st.Sent != 0 || st.Lost != 5000 {
			t.Errorf("%+v, want 5000 lost", st)
		}
	})
}

// TestRealServer sends to a server over a socket.
func TestRealServer(t *testing.T) {
	mem := new(server)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		res, err := mem.RoundTrip(r)
		if err != nil {
			http.Error(w, err.Error(), 500)
			return
		}
		w.WriteHeader(res.StatusCode)
	}))
	defer srv.Close()
	s, err := New(Config{URL: srv.URL + "/write"})
	failure.None(t, err)
	offer(s, time.UnixMilli(1), "a", "b")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if st := s.Close(ctx); st.Sent != 2 || st.Lost != 0 {
		t.Errorf("%+v", st)
	}
}

func TestAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"http://127.0.0.1:9090/api/v1/write": "",
		"https://metrics.example/push?a=b":   "",
		"http://u:s3cret@host/":              "holds a user or password",
		"ftp://host/":                        "wants the form",
		"host:9090":                          "wants the form",
		"http://":                            "wants the form",
		"http://host:bad port/s3cret":        "is no URL",
		"":                                   "wants the form",
		"bob:s3cret@host:9090/api/v1/write":  "holds a user or password",
		"http:/bob:s3cret@host/api/v1/write": "holds a user or password",
		"host:9090/write?key=s3cret":         "wants the form",
	} {
		err := Check(address)
		failure.Want(t, err, want)
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("a secret in %v", err)
		}
	}
}

// TestPasswordInErrors: neither the password of basic authentication nor that of a proxy is in an
// error, whatever the server repeats.
func TestPasswordInErrors(t *testing.T) {
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("bob:s3cret"))
	_, encoded, _ := strings.Cut(basic, " ")
	for name, answer := range map[string]func(int) (*http.Response, error){
		"reason":  always(reply(401, "no bob with s3cret"), nil),
		"encoded": always(reply(401, "no "+encoded), nil),
		"status": func(int) (*http.Response, error) {
			res := reply(401, "")
			res.Status = "401 no bob with s3cret"
			return res, nil
		},
		"no HTTP": func(int) (*http.Response, error) {
			return nil, errors.New(`net/http: HTTP/1.x transport connection broken: malformed HTTP response "s3cret"`)
		},
		"proxy": func(int) (*http.Response, error) {
			_, err := proxy(func(*http.Request) (*url.URL, error) {
				return nil, errors.New(`invalid proxy address "http://bob:s3cret@%zz"`)
			})(nil)
			return nil, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := start(t, &server{answer: answer}, Config{Authorization: basic})
				offer(s, time.UnixMilli(1), "a")
				time.Sleep(2 * time.Minute)
				st := s.Close(t.Context())
				if st.Lost != 1 || st.Err == nil || strings.Contains(st.Err.Error(), "s3cret") ||
					strings.Contains(st.Err.Error(), encoded) {
					t.Errorf("%d lost because %v", st.Lost, st.Err)
				}
			})
		})
	}
}
