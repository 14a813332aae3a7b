package ui

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
)

// policy is the Content-Security-Policy that the page is tested with.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

type object = map[string]any

// A player is a server that plays the examples of console/testdata, as far as a test lets it.
type player struct {
	*httptest.Server
	t testing.TB

	mu      sync.Mutex
	role    string
	frames  int           // seconds of the run that have been played
	ended   object        // the event end, once there is one
	silent  bool          // streams are cut and refused
	changed chan struct{} // closed and replaced by every change
	posted  []string
	of      string // the comparison or sizing of stored runs; "" for none
}

const (
	runID        = "20261124-084500-quickstart-a1b2"
	comparisonID = "20261124-084500-quickstart-c3d4"
)

func example(t testing.TB, name string) object {
	t.Helper()
	data, err := os.ReadFile("../testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var out object
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

func play(t testing.TB) *player {
	p := &player{t: t, role: "operator", changed: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		http.FileServerFS(Files()).ServeHTTP(w, r)
	})
	mux.HandleFunc("GET /api/session", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, p.session())
	})
	mux.HandleFunc("POST /api/login", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Token string }
		json.NewDecoder(r.Body).Decode(&in)
		if in.Token != "right" {
			w.WriteHeader(http.StatusUnauthorized)
			answer(w, object{"error": "the token is not known"})
			return
		}
		p.set(func() { p.role = "viewer" })
		answer(w, p.session())
	})
	mux.HandleFunc("GET /api/live", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, object{"items": p.live()})
	})
	mux.HandleFunc("GET /api/live/{id}/stream", p.stream)
	mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		var in any
		json.NewDecoder(r.Body).Decode(&in)
		body, _ := json.Marshal(in)
		p.set(func() { p.posted = append(p.posted, r.URL.Path+" "+string(body)) })
		answer(w, object{"done": "It has been asked for.", "pid": 4242})
	})
	for path, body := range map[string]object{
		"/api/history": example(t, "history"),
		"/api/plans": {"plans": []any{object{
			"file":    "quickstart.yaml",
			"name":    "quickstart",
			"verbs":   []any{"run", "compare"},
			"engines": []any{"postgresql", "mysql"},
			"length":  300,
		}, object{
			"file":    "bad.yaml",
			"name":    "",
			"verbs":   []any{},
			"problem": "bad.yaml:2:3: unknown key",
		}}},
		"/api/started": {"processes": []any{}},
		"/api/trend":   trend(),
		"/api/sizings/": {
			"id":    "s",
			"plan":  "box",
			"state": "sealed",
			"steps": []any{object{
				"run":   "r1",
				"users": 200,
				"grade": "good",
				"valid": true,
				"text":  "p95 30 ms",
			}},
		},
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			answer(w, body)
		})
	}
	mux.HandleFunc("GET /api/runs/{id}", func(w http.ResponseWriter, _ *http.Request) {
		run := storedRun()
		p.set(func() {
			if p.of != "" {
				run["of"] = p.of
			}
		})
		answer(w, run)
	})
	mux.HandleFunc("GET /api/documents/", func(w http.ResponseWriter, r *http.Request) {
		p.set(func() { p.posted = append(p.posted, "document "+r.Header.Get("Sec-Fetch-Dest")) })
		w.Header().
			Set("Content-Security-Policy", "sandbox allow-scripts; default-src 'none'; frame-ancestors 'self'")
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>Report</title><p>The report.")
	})
	judged := example(t, "judged")
	mux.HandleFunc("GET /api/comparisons/{id}", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, judged)
	})
	disturbed := maps.Clone(judged)
	disturbed["state"] = "sealed"
	disturbed["done"] = 0
	disturbed["by_cost"] = 6
	mux.HandleFunc("GET /api/comparisons/disturbed", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, disturbed)
	})
	mux.HandleFunc("GET /api/runs/{id}/series", func(w http.ResponseWriter, r *http.Request) {
		scale := 1.0
		if strings.HasSuffix(r.PathValue("id"), "b1b2") {
			scale = 1.3
		}
		answer(w, p.past(0, 120, scale))
	})
	mux.HandleFunc("GET /api/runs/{id}/operations", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, object{"operations": p.frame(120)["operations"]})
	})
	mux.HandleFunc("GET /api/runs/{id}/errors", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, object{"failures": p.frame(120)["failures"]})
	})
	mux.HandleFunc("GET /api/runs/{id}/events", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, object{"log": p.frame(120)["log"]})
	})
	mux.HandleFunc("GET /api/runs/{id}/limiter", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, object{
			"name":   "unknown",
			"so_far": true,
			"text":   "No indicator qualifies yet.",
			"indicators": []any{
				object{
					"name":  "app CPU",
					"state": "suspect",
					"text":  "83 % of its cores at 1,240 users, and it rose with the users.",
				},
				object{
					"name":  "connections of the database",
					"state": "cleared",
					"text":  "9 of 100 in use.",
				}},
		})
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		p.set(func() { p.silent = true })
		p.Close()
	})
	return p
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(body)
}

// set changes the player and wakes its streams.
func (p *player) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *player) session() object {
	p.mu.Lock()
	defer p.mu.Unlock()
	return object{"role": p.role, "login": true, "plans": true, "version": "test"}
}

func (p *player) live() []any {
	p.mu.Lock()
	defer p.mu.Unlock()
	state := "running"
	if p.ended != nil {
		state = "died"
	}
	return []any{
		object{
			"kind":   "run",
			"id":     runID,
			"verb":   "capacity",
			"plan":   "quickstart",
			"arm":    "base",
			"engine": "postgresql",
			"state":  state,
			"began":  "2026-11-24T08:45:00Z",
		},
		object{
			"kind":  "comparison",
			"id":    comparisonID,
			"verb":  "compare",
			"plan":  "quickstart",
			"state": "running",
			"began": "2026-11-24T08:45:00Z",
		},
	}
}

// frame is second n of the run: the example, with readings that move.
func (p *player) frame(n int) object {
	f := example(p.t, "frame-search")
	x := float64(n)
	users := math.Min(1240, 20+14*x) + 60*math.Sin(x/9)
	if n > 100 {
		users = 1240 + 90*math.Exp(-x/160)*math.Sin(x/7)
	}
	load := users / 1300
	f["seq"], f["at"] = n, n
	f["phases"] = []any{object{
		"name": "ramp",
		"from": 0,
		"to":   20,
	}, object{"name": "settle", "from": 20, "to": 30}, object{"name": "search", "from": 30}}
	f["users"] = object{"wanted": math.Round(users + 6), "active": math.Round(users)}
	f["ops"] = 2.19*users + 40*math.Sin(x*1.7)
	p50 := 2.2 + 2*load + 0.3*math.Sin(x*2.3)
	f["response"] = object{
		"p50": p50,
		"p95": p50 * (4 + 3*load*load),
		"p99": p50 * (12 + 14*load*load + 2*math.Sin(x)),
	}
	f["delivery"] = object{
		"p50":  p50 + 1.2,
		"p95":  p50 * 6,
		"p99":  p50 * (18 + 3*math.Sin(x/2)),
		"rate": 4.1 * users,
	}
	f["errors"] = object{
		"total":   n / 8,
		"rate":    float64(n % 8 / 7),
		"classes": object{"timeout": n / 16, "5xx": n / 8},
	}
	f["cpu"] = object{
		"generator": 0.34*load + 0.02*math.Sin(x),
		"app":       0.86*load + 0.02*math.Cos(x*1.3),
		"database":  0.39*load + 0.02*math.Sin(x*0.7),
	}
	if n >= 65 {
		f["agents"] = []any{object{
			"name":  "host-a",
			"users": 620,
			"lag":   0.8,
			"cpu":   0.41,
			"clock": 0.2,
			"heard": 0.4,
			"state": "here",
		}, object{"name": "host-b", "users": 600, "heard": n - 60, "state": "lost"}}
	}
	lo, hi := 1210-260*math.Exp(-x/90), 1210+420*math.Exp(-x/70)
	reading := []string{"held", "held", "broken", "held", "undecided", "broken", "unsound"}[n/10%7]
	var windows []any
	for k := max(1, n/10-11); k <= n/10; k++ {
		windows = append(windows, p.window(k))
	}
	f["search"] = object{
		"level":    users + 6,
		"step":     "near",
		"why":      "cpu(app) < 85% was violated at 1,302 users (" + reading + ")",
		"estimate": 1210,
		"lo":       lo,
		"hi":       hi,
		"bound":    lo - 20,
		"forecast": "ramp of at most 20s, then an estimate after 30s to 60s",
		"windows":  windows,
	}
	if windows == nil {
		f["search"].(object)["windows"] = []any{}
	}
	return f
}

func (p *player) window(k int) object {
	x := float64(10 * k)
	users := math.Min(1240, 20+14*x) + 60*math.Sin(x/9)
	ratio := 0.25 + 0.75*users/1225
	reading := "held"
	if ratio > 1 {
		reading = "broken"
	}
	if k%7 == 6 {
		reading = "unsound"
	}
	return object{
		"n":       k,
		"at":      x,
		"users":   users,
		"reading": reading,
		"ratio":   ratio,
		"rule":    "cpu(app) < 85%",
	}
}

// past returns the content that serve would keep of the seconds after from, up to to.
func (p *player) past(from, to int, scale float64) object {
	t := []any{}
	series := map[string][]any{}
	classes := object{}
	for n := from + 1; n <= to; n++ {
		f := p.frame(n)
		t = append(t, n)
		put := func(name string, v any) {
			if number, ok := v.(float64); ok {
				v = number * scale
			}
			series[name] = append(series[name], v)
		}
		group := func(prefix, key string, names ...string) {
			for _, name := range names {
				put(prefix+name, f[key].(object)[name])
			}
		}
		group("users.", "users", "wanted", "active")
		put("ops", f["ops"])
		group("", "response", "p50", "p95", "p99")
		group("delivery.", "delivery", "p50", "p95", "p99")
		put("errors", f["errors"].(object)["rate"])
		group("cpu.", "cpu", "generator", "app", "database")
		for _, name := range []string{"level", "lo", "hi"} {
			put("search."+name, f["search"].(object)[name])
		}
		now := f["errors"].(object)["classes"].(object)
		before := object{"timeout": (n - 1) / 16, "5xx": (n - 1) / 8}
		for class, v := range now {
			put("errors."+class, float64(v.(int)-before[class].(int)))
		}
		classes = now
		for i, r := range f["rules"].([]any) {
			put(fmt.Sprintf("rule.%d", i), r.(object)["value"])
		}
	}
	_ = classes
	points := object{}
	for name, mean := range series {
		points[name] = object{"mean": mean}
	}
	last := p.frame(max(1, to))
	windows := []any{}
	for k := 1; k <= to/10; k++ {
		windows = append(windows, p.window(k))
	}
	return object{
		"step":    1,
		"t":       t,
		"series":  points,
		"phases":  last["phases"],
		"rules":   last["rules"],
		"windows": windows,
		"log":     last["log"],
		"replace": from == 0,
	}
}

// stream plays the run or the comparison: the past at once, and each second as the test lets it
// come.
func (p *player) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(event string, id int, data any) {
		text, _ := json.Marshal(data)
		fmt.Fprintf(w, "event: %s\nid: %d\ndata: %s\n\n", event, id, text)
	}
	flusher := w.(http.Flusher)
	at := 0
	last := r.Header.Get("Last-Event-ID")
	if last == "" {
		last = r.URL.Query().Get("last")
	}
	fmt.Sscan(last, &at)
	p.mu.Lock()
	silent, frames := p.silent, p.frames
	p.mu.Unlock()
	if silent {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if r.PathValue("id") == comparisonID {
		send("judged", 0, example(p.t, "judged"))
		send("frame", 92, example(p.t, "frame-comparison"))
		flusher.Flush()
		<-r.Context().Done()
		return
	}
	send("past", at, p.past(at, frames-1, 1))
	at = max(at, frames-1)
	flusher.Flush()
	for {
		p.mu.Lock()
		frames := p.frames
		ended := p.ended
		silent := p.silent
		changed := p.changed
		p.mu.Unlock()
		for at < frames {
			at++
			send("frame", at, p.frame(at))
			if at%50 == 0 {
				flusher.Flush()
			}
		}
		if ended != nil {
			send("end", at, ended)
		}
		flusher.Flush()
		if ended != nil || silent {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

func storedRun() object {
	return object{
		"kind":    "run",
		"id":      runID,
		"plan":    "quickstart",
		"began":   "2026-11-24T08:15:00Z",
		"state":   "sealed",
		"valid":   true,
		"arm":     "base",
		"engine":  "postgresql",
		"result":  "1,210 users (1,150 to 1,290)",
		"believe": object{"name": "all", "color": "green", "text": "All 19 gates are green."},
		"gates": []any{object{
			"name":  "lag",
			"color": "green",
			"text":  "lag of actions, p99: 0.8 ms",
		}},
		"documents": []any{object{
			"name": "Report",
			"href": "/api/documents/runs/" + runID + "/report.html",
		}},
		"plan_text": "name: quickstart\nseed: 7\n",
	}
}

func trend() object {
	var points []any
	for i, v := range []float64{0, -0.6, -9.9, -9.2, -5.3, -1.7} {
		points = append(points, object{
			"at":      fmt.Sprintf("2026-%02d-01T10:00:00Z", i+5),
			"value":   v,
			"lo":      v - 3,
			"hi":      v + 3.4,
			"version": fmt.Sprintf("v10.%d", i),
			"id":      "c",
		})
	}
	points[2].(object)["change"] = -9.4
	return object{
		"lines": []any{object{
			"plan":     "quickstart",
			"engine":   "PostgreSQL",
			"endpoint": "supported users against v10.0",
			"unit":     "%",
			"points":   points,
		},
			object{
				"plan":     "quickstart",
				"engine":   "MariaDB",
				"endpoint": "supported users against v10.2",
				"unit":     "%",
				"points":   points[2:],
			}},
		"warnings": []any{
			"quickstart: MariaDB: some-comparison is left out: some of its searches found only a lower bound",
		},
	}
}
