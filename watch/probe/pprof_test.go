package probe

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"runtime"
	"strings"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/watch/series"
)

// A profile of CPU time is asked for by its seconds, with the query of the page, of which no error
// tells anything.
func TestCPUProfile(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.String() != "/debug/pprof/profile?seconds=10&token=geheim" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, "bytes")
	}))
	t.Cleanup(srv.Close)
	got, err := CPUProfile(t.Context(), srv.URL+"/debug/pprof/?token=geheim", 10)
	if err != nil || string(got) != "bytes" {
		t.Errorf("%q, %v", got, err)
	}
	_, err = CPUProfile(t.Context(), srv.URL+"/elsewhere?token=geheim", 10)
	failure.Says(t, err, "404")
	failure.Hides(t, err, "geheim")
}

// profiles serves this test program's own profiles, or the answer in broken instead.
func profiles(t testing.TB, broken map[string]string) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/debug/pprof/")
		if r.URL.Query().Get("debug") != "1" {
			http.Error(w, "binary", http.StatusBadRequest)
			return
		}
		if text, ok := broken[name]; ok {
			if text == "" {
				http.NotFound(w, r)
				return
			}
			fmt.Fprint(w, text)
			return
		}
		pprof.Handler(name).ServeHTTP(w, r)
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv
}

func TestPprof(t *testing.T) {
	srv := profiles(t, nil)
	ls := []series.Label{{Name: "role", Value: "app"}}
	p, err := NewPprof(srv.URL+"/debug/pprof/?token=geheim", ls...)
	failure.None(t, err)
	defer p.Close()
	if p.Name() != "pprof "+strings.TrimPrefix(srv.URL, "http://")+"/debug/pprof" {
		t.Errorf("name %q", p.Name())
	}
	s, err := p.Sample(t.Context(), at(0))
	failure.None(t, err)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	got := values(t, s)
	for name, want := range map[string]float64{
		"go_goroutines":                      float64(runtime.NumGoroutine()),
		"go_memstats_heap_inuse_bytes":       float64(m.HeapInuse),
		"go_memstats_stack_inuse_bytes":      float64(m.StackInuse),
		"go_memstats_sys_bytes":              float64(m.Sys),
		"go_gc_cycles_total_gc_cycles_total": float64(m.NumGC),
	} {
		if v, ok := got[name+`{role="app"}`]; !ok || v < want/4-2 || v > want*4+2 {
			t.Errorf("%s = %v, the runtime says %v", name, v, want)
		}
	}
	if len(got) != 10 {
		t.Errorf("%d series, want 10:\n%s", len(got), text(s))
	}
	for i := 1; i < 10; i++ {
		s, err := p.Sample(t.Context(), at(i))
		if err != nil || (len(s) > 0) != (i%slowEvery == 0) {
			t.Errorf("sample %d: %d series, %v", i, len(s), err)
		}
	}
}

// Each number under its own name, as Go 1.26 writes them.
func TestParseHeap(t *testing.T) {
	const in = "heap profile: 1: 2 [3: 4] @ heap/1048576\n1: 2 [3: 4] @ 0x1\n#\t0x1\tmain.main+0x1\tmain.go:1\n\n\n# runtime.MemStats\n" +
		"# Alloc = 11\n# TotalAlloc = 12\n# Sys = 13\n# Lookups = 0\n# Mallocs = 14\n# Frees = 15\n# HeapAlloc = 16\n# HeapSys = 17\n# HeapIdle = 18\n" +
		"# HeapInuse = 19\n# HeapReleased = 20\n# HeapObjects = 21\n# Stack = 22 / 23\n# MSpan = 24 / 25\n# NextGC = 26\n# PauseNs = [27 28]\n" +
		"# NumGC = 29\n# NumForcedGC = 0\n# GCCPUFraction = 3.5e-05\n# DebugGC = false\n# MaxRSS = 30\n"
	const want = "go_memstats_sys_bytes 13\ngo_memstats_heap_alloc_bytes 16\ngo_memstats_heap_idle_bytes 18\ngo_memstats_heap_inuse_bytes 19\n" +
		"go_memstats_heap_objects 21\ngo_memstats_stack_inuse_bytes 22\ngo_memstats_next_gc_bytes 26\ngo_gc_cycles_total_gc_cycles_total 29\n" +
		"go_memstats_gc_cpu_fraction 3.5e-05\n"
	var k sink
	if err := parseHeap([]byte(in), &k); err != nil || text(k.s) != want {
		t.Errorf("%v\n%s", err, text(k.s))
	}
}

func TestPprofFails(t *testing.T) {
	for name, c := range map[string]struct {
		broken map[string]string
		err    string
		left   int
	}{
		"no profiling": {map[string]string{
			"goroutine": "",
			"heap":      "",
		}, "answer 404 Not Found, want 200; is profiling switched on", 0},
		"a page":      {map[string]string{"goroutine": "<!doctype html>\n<title>Chat</title>"}, "profile goroutine: begins with \"<!doctype", 9},
		"another one": {map[string]string{"heap": "<!doctype html>"}, "profile heap: begins with", 1},
		"cut off":     {map[string]string{"heap": "heap profile: 1: 2 [3: 4] @ heap/1048576\n1: 2 [3: 4] @ 0x1\n"}, "has no runtime.MemStats", 1},
		"half of it":  {map[string]string{"heap": "heap profile: 1: 2\n# runtime.MemStats\n# Sys = 5\n"}, "has 1 of the 9 numbers", 2},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := NewPprof(profiles(t, c.broken).URL + "/debug/pprof?token=geheim")
			failure.None(t, err)
			defer p.Close()
			for i := range 2 { // it does not wait for the fifth time to fail again
				s, err := p.Sample(t.Context(), at(i))
				if err == nil || !strings.Contains(err.Error(), c.err) ||
					strings.Contains(err.Error(), "geheim") ||
					len(s) != c.left {
					t.Errorf("%d series, error %v; want %d and %q", len(s), err, c.left, c.err)
				}
			}
		})
	}
	for _, u := range []string{"", "localhost:8067", "ftp://h/debug/pprof", "http://user:geheim@h:port/"} {
		failure.Hides(t, failure.Of(NewPprof(u)), "geheim")
	}
}

func FuzzPprof(f *testing.F) {
	f.Add([]byte("goroutine profile: total 17\n5 @ 0x1\n"))
	f.Add([]byte(
		"heap profile: 1: 2 [3: 4] @ heap/1048576\n\n# runtime.MemStats\n# Alloc = 1\n# Sys = 2\n# HeapInuse = 3\n# Stack = 4 / 5\n# GCCPUFraction = 3.1e-05\n",
	))
	var own bytes.Buffer
	rec := httptest.NewRecorder()
	rec.Body = &own
	pprof.Handler("heap").ServeHTTP(rec, httptest.NewRequest("GET", "/?debug=1", nil))
	f.Add(own.Bytes())
	f.Add([]byte(
		"Active connections: 291 \nserver accepts handled requests\n 16630948 16630948 31070465 \nReading: 6 Writing: 179 Waiting: 106 \n",
	))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, parse := range []func([]byte, *sink) error{parseGoroutines, parseHeap, parseStubStatus} {
			var k sink
			err := parse(b, &k)
			seen := map[string]bool{}
			for _, s := range k.s {
				if !(s.Value >= 0) || seen[s.Name] {
					t.Fatalf("%+v of %q", s, b)
				}
				seen[s.Name] = true
			}
			// Accepted input is accepted again, with the same numbers.
			var again sink
			if err2 := parse(bytes.Clone(b), &again); (err == nil) != (err2 == nil) ||
				text(k.s) != text(again.s) {
				t.Fatalf("%v, then %v", err, err2)
			}
		}
	})
}
