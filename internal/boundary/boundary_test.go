package boundary

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// mute is a value whose text cannot be had.
type mute struct{}

func (mute) Error() string { panic("twice") }

// A panic of any kind is an error with its place and its value, in one printable line, and the file
// in which it happened.
func TestPanicBecomesAnError(t *testing.T) {
	var none []int
	for _, tt := range []struct {
		name  string
		f     func()
		value string
	}{
		{"of the runtime", func() {
			_ = none[len(none)+3]
		}, "runtime error: index out of range [3] with length 0"},
		{"a nil pointer", func() {
			var p *Panic
			p.Where = ""
		}, "runtime error: invalid memory address or nil pointer dereference"},
		{"a text", func() { panic("plainly") }, "plainly"},
		{"an error", func() { panic(io.ErrUnexpectedEOF) }, "unexpected EOF"},
		{"control characters", func() {
			panic("a\x1b]0;forged\x07\nsealed, valid")
		}, `a\x1b]0;forged\x07\nsealed, valid`},
		{"a value without text", func() { panic(mute{}) }, "a value of type boundary.mute"},
		{"a nil", func() { panic(nil) }, (&runtime.PanicNilError{}).Error()},
		{"a long one", func() {
			panic(strings.Repeat("x", 1<<20))
		}, strings.Repeat("x", mostValue) + "…"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := Do("a test", func() error { tt.f(); return nil })
			p, ok := errors.AsType[*Panic](err)
			if !ok {
				t.Fatalf("%v is no panic", err)
			}
			if p.Value != tt.value || p.Where != "a test" {
				t.Errorf("%q in %q, want %q", p.Value, p.Where, tt.value)
			}
			if !strings.HasPrefix(p.At(), "boundary/boundary_test.go:") {
				t.Errorf("it happened at %q\n%s", p.At(), p.Stack)
			}
			if len(p.Stack) > mostStack+3 || !strings.Contains(p.Stack, "TestPanicBecomesAnError") {
				t.Errorf("a stack of %d bytes:\n%s", len(p.Stack), p.Stack)
			}
			if want := "panic in a test: " + tt.value + " (" + p.At() + ")"; err.Error() != want {
				t.Errorf("%q, want %q", err, want)
			}
		})
	}
}

// TestBoundaryPassesErrors: a function that returns nil or an error is unchanged.
func TestBoundaryPassesErrors(t *testing.T) {
	if err := Do("a test", func() error { return nil }); err != nil {
		t.Error(err)
	}
	if err := Do("a test", func() error { return io.EOF }); err != io.EOF {
		t.Error(err)
	}
}

// A boundary may lie on the hot path.
func TestBoundaryAllocatesNothing(t *testing.T) {
	read := func(b []byte) error {
		if len(b) == 0 {
			return io.EOF
		}
		return nil
	}
	body := []byte("x")
	take := func() (err error) {
		defer Recover("reading", &err)
		return read(body)
	}
	if n := testing.AllocsPerRun(1000, func() { _ = take() }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// A request that panics is answered with 500 and reported; the next one is served.
func TestHandlerAnswersAfterAPanic(t *testing.T) {
	var mu sync.Mutex
	var caught []*Panic
	mux := http.NewServeMux()
	mux.HandleFunc("/bad", func(http.ResponseWriter, *http.Request) { panic("no") })
	mux.HandleFunc("/half", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		panic("of it")
	})
	mux.HandleFunc("/abort", func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/good", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "well")
	})
	s := httptest.NewServer(Handler(mux, func(p *Panic) {
		mu.Lock()
		defer mu.Unlock()
		caught = append(caught, p)
	}))
	defer s.Close()
	for _, tt := range []struct {
		path, body string
		status     int
		cut        bool // the answer does not end well
		caught     int
	}{
		{"/bad", "defect of plimsoll", 500, false, 1},
		{"/half", "half", 200, true, 2},
		{"/abort", "", 0, true, 2},
		{"/good", "well", 200, false, 2},
	} {
		resp, err := http.Get(s.URL + tt.path)
		if err != nil {
			if !tt.cut {
				t.Errorf("%s: %v", tt.path, err)
			}
			continue
		}
		b, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		mu.Lock()
		n := len(caught)
		mu.Unlock()
		if resp.StatusCode != tt.status || !strings.Contains(string(b), tt.body) ||
			(err != nil) != tt.cut ||
			n != tt.caught {
			t.Errorf("%s: status %d, %q, %v, %d panics caught", tt.path, resp.StatusCode, b, err, n)
		}
	}
}
