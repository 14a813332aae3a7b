package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"plimsoll/watch/series"
)

// Pprof samples a Go server that exposes net/http/pprof but no metrics, under the names of
// Prometheus' Go client:
//
//	go_goroutines
//	go_memstats_heap_inuse_bytes, go_memstats_heap_alloc_bytes, go_memstats_heap_idle_bytes, go_memstats_heap_objects
//	go_memstats_stack_inuse_bytes, go_memstats_sys_bytes, go_memstats_next_gc_bytes
//	go_memstats_gc_cpu_fraction          since the server's start
//	go_gc_cycles_total_gc_cycles_total   collections since the server's start
//
// It reads the first line of BASE/goroutine?debug=1 and the end of BASE/heap?debug=1. Both stop the
// server's world for a moment, and the server writes out its heap profile: so they are read every
// fifth time only.
type Pprof struct {
	name             string
	goroutines, heap *page
	round            uint64
	out              sink
}

// NewPprof makes the probe of BASE, such as http://HOST:8067/debug/pprof. labels are added to every
// series. User, password and query of the URL are sent but appear in no name and no error.
func NewPprof(base string, labels ...series.Label) (*Pprof, error) {
	path, query, _ := strings.Cut(base, "?")
	page := func(name string) (*page, error) {
		u := strings.TrimRight(path, "/") + "/" + name + "?debug=1"
		if query != "" {
			u += "&" + query
		}
		p, _, err := newPage("pprof", u)
		return p, err
	}
	g, err := page("goroutine")
	if err != nil {
		return nil, err
	}
	h, err := page("heap")
	if err != nil {
		return nil, err
	}
	return &Pprof{
		name:       strings.TrimSuffix(g.name, "/goroutine"),
		goroutines: g,
		heap:       h,
		out:        sink{labels: labels},
	}, nil
}

// Name returns "pprof" and the URL's host and path.
func (p *Pprof) Name() string { return p.name }

// Sample fetches both profiles at its first call and every fifth; in between it returns nothing.
func (p *Pprof) Sample(ctx context.Context, _ time.Time) ([]series.Sample, error) {
	p.out.reset()
	p.round++
	if p.round%slowEvery != 1 {
		return nil, nil
	}
	var errs []error
	for _, x := range []struct {
		what  string
		page  *page
		parse func([]byte, *sink) error
	}{{"goroutine", p.goroutines, parseGoroutines}, {"heap", p.heap, parseHeap}} {
		body, _, err := x.page.fetch(ctx)
		if err != nil {
			err = fmt.Errorf(
				"%w; is profiling switched on, and does the URL end in /debug/pprof?",
				err,
			)
		} else {
			err = x.parse(body, &p.out)
		}
		if err != nil {
			p.round = 0 // try again in a second
			errs = append(errs, fmt.Errorf("profile %s: %w", x.what, err))
		}
	}
	return p.out.s, errors.Join(errs...)
}

// Close drops the connections.
func (p *Pprof) Close() error { return errors.Join(p.goroutines.Close(), p.heap.Close()) }

// CPUProfile fetches a profile of the CPU time of a Go server at BASE, over so many seconds. It is
// compressed, of at most 16 MiB. User, password and query of BASE appear in no error.
func CPUProfile(ctx context.Context, base string, seconds int) ([]byte, error) {
	path, query, _ := strings.Cut(base, "?")
	u := fmt.Sprintf("%s/profile?seconds=%d&%s", strings.TrimRight(path, "/"), seconds, query)
	p, _, err := newPage("pprof", strings.TrimSuffix(u, "&"))
	if err != nil {
		return nil, err
	}
	defer p.Close()
	body, _, err := p.fetch(ctx)
	return body, err
}

// parseGoroutines reads the first line, "goroutine profile: total 123".
func parseGoroutines(text []byte, k *sink) error {
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	rest, ok := bytes.CutPrefix(line, []byte("goroutine profile: total "))
	if !ok {
		return fmt.Errorf("begins with %.60q, want \"goroutine profile: total N\"", line)
	}
	n, err := number(bytes.TrimRight(rest, "\r"))
	if err != nil {
		return fmt.Errorf("begins with %.60q: %w", line, err)
	}
	k.add("go_goroutines", nil, float64(n))
	return nil
}

// heapWant are lines of the runtime.MemStats at the end of a heap profile, such as "# HeapInuse =
// 123".
var heapWant = map[string]string{
	"HeapInuse":     "go_memstats_heap_inuse_bytes",
	"HeapAlloc":     "go_memstats_heap_alloc_bytes",
	"HeapIdle":      "go_memstats_heap_idle_bytes",
	"HeapObjects":   "go_memstats_heap_objects",
	"Sys":           "go_memstats_sys_bytes",
	"NextGC":        "go_memstats_next_gc_bytes",
	"NumGC":         "go_gc_cycles_total_gc_cycles_total",
	"GCCPUFraction": "go_memstats_gc_cpu_fraction",
	"Stack":         "go_memstats_stack_inuse_bytes", // in use / from the system
}

func parseHeap(text []byte, k *sink) error {
	if !bytes.HasPrefix(text, []byte("heap profile: ")) {
		line, _, _ := bytes.Cut(text, []byte{'\n'})
		return fmt.Errorf("begins with %.60q, want \"heap profile: ...\"", line)
	}
	i := bytes.LastIndex(text, []byte("\n# runtime.MemStats\n"))
	if i < 0 {
		return errors.New("has no runtime.MemStats; is it cut off, or no debug=1?")
	}
	found := 0
	for line := range lines(text[i+1:]) {
		f := fields(line)
		if string(f.next()) != "#" {
			continue
		}
		key := f.next()
		name := heapWant[string(key)]
		if name == "" || string(f.next()) != "=" {
			continue
		}
		w := f.next()
		v, err := scientific(w)
		if err != nil {
			return fmt.Errorf("%s: %.40q: %w", key, w, err)
		}
		for _, s := range k.s {
			if s.Name == name {
				return fmt.Errorf("%s is there twice", key)
			}
		}
		k.add(name, nil, v)
		found++
	}
	if found < len(heapWant) {
		return fmt.Errorf(
			"has %d of the %d numbers wanted of runtime.MemStats",
			found,
			len(heapWant),
		)
	}
	return nil
}
