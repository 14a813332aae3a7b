package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/watch/series"
)

// reading makes the readers of this host.
func reading(t testing.TB, w What) *Readers {
	t.Helper()
	if w.Role == "" {
		w.Role = "proxy"
	}
	r, err := NewReaders(w, "v1")
	failure.None(t, err)
	t.Cleanup(r.Close)
	return r
}

// remote is the probe of some readers.
func remote(r *Readers, name string) *Remote {
	ask := func(ctx context.Context) ([]byte, error) { return r.Answer(ctx, name) }
	return NewRemote(RemoteConfig{Ask: ask, Role: r.what.Role, Instance: r.what.Role + "-0"})
}

// proxy is the probe of an agent with an answer of its own.
func proxy(answer func() ([]byte, error)) *Remote {
	ask := func(context.Context) ([]byte, error) { return answer() }
	return NewRemote(RemoteConfig{Role: "proxy", Instance: "proxy-0", Ask: ask})
}

func take(t *testing.T, r *Remote) ([]series.Sample, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return r.Sample(ctx, time.Now())
}

// One host's numbers: each series once, with the role that it is about and an instance, and none
// that could be taken for the generator's own.
func TestRemoteHost(t *testing.T) {
	r := remote(reading(t, What{
		Processes: []Processes{{"app", []string{fmt.Sprint(os.Getpid())}}},
		NICs:      []string{"lo"},
	}), "a run")
	if r.Name() != "agent proxy-0" {
		t.Errorf("name %q", r.Name())
	}
	for range 3 {
		got, err := take(t, r)
		failure.None(t, err)
		seen := map[string]bool{}
		names := map[string]string{}
		for _, x := range got {
			key := string(x.AppendKey(nil))
			if seen[key] {
				t.Errorf("%s is there twice", key)
			}
			seen[key] = true
			names[x.Name] = label(x, "role")
			if label(x, "instance") != "proxy-0" ||
				label(x, "role") != "proxy" && label(x, "role") != "app" {
				t.Errorf("labels of %s", key)
			}
		}
		for name, role := range map[string]string{
			"node_cpu_seconds_total":                   "proxy",
			"node_netstat_TcpExt_ListenOverflows":      "proxy",
			"node_sockstat_TCP_inuse":                  "proxy",
			"plimsoll_process_count":                   "app",
			"plimsoll_probe_up":                        "proxy",
			"plimsoll_agent_clock_offset_seconds":      "proxy",
			"node_network_receive_missed_errors_total": "proxy",
			"plimsoll_agent_info":                      "proxy",
		} {
			if names[name] != role {
				t.Errorf("%s has role %q, want %q", name, names[name], role)
			}
		}
		for _, probe := range []string{"host", "process", "cgroup", "nic lo"} {
			if key := fmt.Sprintf(`plimsoll_probe_up{instance="proxy-0",probe=%q,role="proxy"}`, probe); !seen[key] {
				t.Errorf("no %s", key)
			}
		}
	}
	// It is the same clock: it cannot be further away than half of the way.
	if c := r.best(); c.offset.Abs() > c.way/2+10*time.Microsecond {
		t.Errorf("the same clock is %v ahead, give or take %v", c.offset, c.way/2)
	}
}

// Cores of a role on a shared host.
func TestCores(t *testing.T) {
	r := remote(reading(t, What{CPUs: []int{0}}), "a run")
	cores := map[string]bool{}
	for deadline := time.Now().Add(10 * time.Second); ; {
		got, err := take(t, r)
		failure.None(t, err)
		busy := 0
		sums := map[string]float64{}
		for _, x := range got {
			if strings.HasPrefix(x.Name, "node_cpu_") ||
				strings.HasPrefix(x.Name, "node_schedstat_") {
				cores[label(x, "cpu")] = true
			}
			if x.Name == "plimsoll_cpu_busy_ratio" {
				busy++
			}
			sums[x.Name] += x.Value
			if x.Name == "node_cpu_seconds_total" &&
				(label(x, "mode") == "idle" || label(x, "mode") == "iowait") {
				sums["idle"] += x.Value
			}
		}
		all, used := sums["plimsoll_agent_cpu_seconds_total"], sums["plimsoll_agent_cpu_busy_seconds_total"]
		if all == 0 || math.Abs(all-sums["node_cpu_seconds_total"]) > 0.001 ||
			math.Abs(all-used-sums["idle"]) > 0.001 {
			t.Errorf(
				"CPU: %v of %v; all modes %v, idle %v",
				used,
				all,
				sums["node_cpu_seconds_total"],
				sums["idle"],
			)
		}
		if busy == 1 {
			break
		}
		if busy > 1 || time.Now().After(deadline) {
			t.Fatalf("%d series of plimsoll_cpu_busy_ratio, want one", busy)
		}
	}
	if len(cores) != 1 || !cores["0"] {
		t.Errorf("cores %v, want 0 alone", cores)
	}
}

// An answer that no agent of this program gives is a failure, and nothing of it is kept.
func TestLyingAgent(t *testing.T) {
	small := func() Reply {
		role := []series.Label{{Name: "role", Value: "proxy"}}
		return Reply{
			Role:     "proxy",
			Received: time.Now(),
			Replied:  time.Now(),
			Probes:   []string{"host", "nginx"},
			Samples: []series.Sample{{
				Name:   "a",
				Labels: role,
				Value:  1,
			}, {Name: "b", Labels: role, Value: 2}},
		}
	}
	for name, c := range map[string]struct {
		change func(*Reply)
		want   string
	}{
		"whole": {func(*Reply) {}, ""},
		"other role": {func(a *Reply) {
			a.Role = "db"
		}, "the agent there has the role db, and the plan says proxy; start it with -role proxy"},
		"refused": {func(a *Reply) {
			a.Refused = "no room"
		}, "the agent has no answer: no room"},
		"no role": {func(a *Reply) { a.Samples[0].Labels = nil }, "a has no role"},
		"instance": {func(a *Reply) {
			a.Samples[0].Labels = append(a.Samples[0].Labels, series.Label{Name: "instance"})
		}, `it has a label "instance" already`},
		"label twice": {func(a *Reply) {
			a.Samples[1].Labels = append(a.Samples[1].Labels, a.Samples[1].Labels[0])
		}, `it has a label "role" already`},
		"name": {func(a *Reply) {
			a.Samples[0].Name = "a b"
		}, `"a b" is no name of a metric`},
		"name of labels": {func(a *Reply) {
			a.Samples[0].Labels = append(a.Samples[0].Labels, series.Label{Name: "a-b"})
		}, `"a-b" is no name of a label`},
		"too many": {func(a *Reply) {
			a.Samples = make([]series.Sample, mostSamples+1)
		}, "more than 50000 samples"},
	} {
		t.Run(name, func(t *testing.T) {
			a := small()
			c.change(&a)
			got, err := take(t, proxy(func() ([]byte, error) { return json.Marshal(a) }))
			if c.want == "" {
				if err != nil || len(got) != 4 {
					t.Errorf("%d samples, %v", len(got), err)
				}
			} else if err == nil || len(got) > 0 || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d samples, error %v; want %q", len(got), err, c.want)
			}
		})
	}
	t.Run("cut", func(t *testing.T) {
		r := proxy(func() ([]byte, error) { return []byte(`{"role":"proxy"`), nil })
		failure.Says(t, failure.Of(take(t, r)), "the agent's answer cannot be read")
	})
	t.Run("probe gone", func(t *testing.T) {
		a := small()
		r := proxy(func() ([]byte, error) { return json.Marshal(a) })
		failure.None(t, failure.Of(take(t, r)))
		a.Probes = a.Probes[:1]
		if got, err := take(t, r); err == nil || len(got) != 4 ||
			!strings.Contains(err.Error(), "its probe nginx is there no more") {
			t.Errorf("%d samples, error %v", len(got), err)
		}
	})
}

// A probe that fails there fails here, with its name and reason; the samples of the others are not
// lost.
func TestProbeFailsThere(t *testing.T) {
	up := true
	nginx := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !up {
			http.Error(w, "no", http.StatusBadGateway)
			return
		}
		fmt.Fprint(
			w,
			"Active connections: 3 \nserver accepts handled requests\n 10 10 20 \nReading: 0 Writing: 1 Waiting: 2 \n",
		)
	}))
	defer nginx.Close()
	r := remote(reading(t, What{Nginx: nginx.URL + "/status?token=geheim"}), "a run")
	failure.None(t, failure.Of(take(t, r)))
	up = false
	got, err := take(t, r)
	failure.Says(t, err, "its probe nginx fails there: answer 502 Bad Gateway, want 200")
	failure.Hides(t, err, "geheim")
	names := map[string]float64{}
	for _, x := range got {
		names[x.Name+" "+label(x, "probe")] = x.Value
	}
	if v, ok := names["plimsoll_probe_up nginx"]; !ok || v != 0 ||
		names["plimsoll_probe_up host"] != 1 ||
		names["node_load1 "] == 0 && len(got) < 50 {
		t.Errorf("%d samples, nginx up: %v %v", len(got), v, ok)
	}
	// A missing process, and a path that is not a file.
	_, err = take(t, remote(
		reading(t, What{Processes: []Processes{{"app", []string{"/nowhere/app.pid"}}}}),
		"a run",
	))
	failure.Says(t, err, "its probe process fails there: role app: no process", "/nowhere/app.pid")
}

// stuck is a probe that does not end when it should.
type stuck struct{ until chan struct{} }

func (s stuck) Name() string { return "stuck" }
func (s stuck) Close() error { return nil }
func (s stuck) Sample(context.Context, time.Time) ([]series.Sample, error) {
	<-s.until
	return []series.Sample{{Name: "late", Value: 1}}, nil
}

// A probe that hangs delays no other, is a failure, and its late samples are not reported as new.
func TestLateProbe(t *testing.T) {
	until := make(chan struct{})
	w, err := newWatch(What{Role: "app"})
	failure.None(t, err)
	w.probes = append(w.probes, &watched{name: "stuck", probe: stuck{until}})
	defer w.close()
	once := func(limit time.Duration) (up map[string]float64, late int, failed []failedProbe) {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		samples, failed := w.sample(ctx)
		up = map[string]float64{}
		for _, s := range samples {
			switch s.Name {
			case "plimsoll_probe_up":
				up[label(s, "probe")] = s.Value
			case "late":
				late++
			}
		}
		return up, late, failed
	}
	for range 2 {
		up, _, failed := once(100 * time.Millisecond)
		if len(failed) != 1 || failed[0].probe != "stuck" || up["host"] != 1 || up["stuck"] != 0 ||
			len(up) != 2 {
			t.Errorf("failed %v, up %v", failed, up)
		}
	}
	close(until)
	w.running.Wait()
	if _, late, failed := once(10 * time.Second); len(failed) != 0 || late != 1 {
		t.Errorf("failed %v, %d late samples", failed, late)
	}
}

// Each reader has probes of its own, a bounded number of times, and the place of one that asks no
// more is free again.
func TestReaders(t *testing.T) {
	rs := reading(t, What{})
	for k := range mostReaders {
		failure.None(t, failure.Of(take(t, remote(rs, fmt.Sprint(k)))))
	}
	failure.Says(t, failure.Of(take(t, remote(rs, "more"))), "8 readers are here already")
	rs.by["3"].asked = time.Now().Add(-2 * forgotten)
	failure.None(t, failure.Of(take(t, remote(rs, "more"))))
	if len(rs.by) != mostReaders || rs.by["3"] != nil {
		t.Errorf("%d readers", len(rs.by))
	}
}

// What cannot be watched is known at the start.
func TestNothingToWatch(t *testing.T) {
	for want, w := range map[string]What{
		`role "host" of processes is reserved`: {
			Role:      "app",
			Processes: []Processes{{"host", []string{"1"}}},
		},
		"there is no device nix0": {Role: "app", NICs: []string{"nix0"}},
		"want a regular file": {
			Role:      "app",
			Processes: []Processes{{"app", []string{"/"}}},
		},
	} {
		failure.Says(t, failure.Of(NewReaders(w, "")), want)
	}
}

// The four instants of a question: the agent's clock is 30 ms ahead, the way takes 4 ms there and 4
// back, the sample 10 ms.
func TestClockOffset(t *testing.T) {
	sent := time.Unix(1_700_000_000, 0)
	c := between(sent, sent.Add(18*time.Millisecond), Reply{
		Received: sent.Add(34 * time.Millisecond),
		Replied:  sent.Add(44 * time.Millisecond),
	})
	if c.offset != 30*time.Millisecond || c.way != 8*time.Millisecond {
		t.Errorf("ahead %v, way %v", c.offset, c.way)
	}
}

// Of eight measurements the one with the shortest way counts, and old ones are forgotten.
func TestBestClock(t *testing.T) {
	r := &Remote{}
	at := func(offset, way time.Duration) {
		r.clocks[r.n%len(r.clocks)] = clock{offset, way}
		r.n++
	}
	at(time.Second, time.Millisecond)
	for i := range 7 {
		at(time.Duration(i), 10*time.Millisecond)
	}
	if c := r.best(); c.offset != time.Second {
		t.Errorf("offset %v, want that of the shortest way", c.offset)
	}
	at(5, 9*time.Millisecond)
	if c := r.best(); c.offset != 5 || c.way != 9*time.Millisecond {
		t.Errorf("%+v after the best has become old", c)
	}
}

// FuzzAnswer reads answers of any content: an error or samples that can be stored.
func FuzzAnswer(f *testing.F) {
	f.Add(
		[]byte(
			`{"role":"proxy","received":"2026-01-02T03:04:05Z","replied":"2026-01-02T03:04:05Z","probes":["host"],"samples":[{"Name":"a","Labels":[{"Name":"role","Value":"proxy"}],"Value":1}]}`,
		),
	)
	f.Add([]byte(`{`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r := proxy(func() ([]byte, error) { return body, nil })
		got, err := r.Sample(t.Context(), time.Now())
		for _, s := range got {
			if label(s, "role") == "" || label(s, "instance") != "proxy-0" {
				t.Errorf("%+v, %v", s, err)
			}
		}
	})
}
