package profile

import (
	"bytes"
	"context"
	"errors"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/watch/profile/symbols"
)

//go:noinline
func spinOnPage() uint64 {
	x := uint64(1)
	for range 400_000_000 {
		x ^= x << 13
		x ^= x >> 7
	}
	return x
}

var spun uint64

// selfProfile profiles this program while it works.
func selfProfile(context.Context, time.Duration) ([]byte, error) {
	var b bytes.Buffer
	if err := pprof.StartCPUProfile(&b); err != nil {
		return nil, err
	}
	spun += spinOnPage()
	pprof.StopCPUProfile()
	return b.Bytes(), nil
}

// The profiles of a server while the gate is open are added up; one that is under way when it closes
// is left out.
func TestPage(t *testing.T) {
	n, full := 0, make(chan bool)
	p := OpenPage(t.Context(), "app", func(ctx context.Context, d time.Duration) ([]byte, error) {
		if n++; n > 2 {
			close(full)
			<-ctx.Done()
		}
		return selfProfile(ctx, d)
	})
	p.Gate(true)
	p.Gate(true)
	<-full
	p.Gate(false)
	all, err := p.Profiles()
	failure.None(t, err)
	s := all["app"]
	spins := s.sum("spinOnPage")
	if spins < s.all()/2 || s.Source != FromServer || s.CPU != 0 || s.Seconds <= 0 {
		t.Errorf("%d of %d samples of the function that works; %v s from %s",
			spins, s.all(), s.Seconds, s.Source)
	}
	two := float64(s.all()) * s.Period.Seconds()
	if s.Seconds < two/3 { // both have their time, the third none
		t.Errorf("%v s of samples in %v s", two, s.Seconds)
	}
	for _, f := range s.Functions {
		if f.Kind == "" || f.Name == "runtime.goexit" && f.Kind != symbols.Runtime {
			t.Errorf("%+v", f)
		}
	}
}

// A server without the page has no profile, and the error tells why.
func TestPageWithout(t *testing.T) {
	gone := errors.New("answer 404")
	asked := make(chan bool)
	p := OpenPage(t.Context(), "app", func(context.Context, time.Duration) ([]byte, error) {
		close(asked)
		return nil, gone
	})
	p.Gate(true)
	<-asked
	_, err := p.Profiles()
	failure.Is(t, err, ErrNoSamples)
	failure.Says(t, err, "role app", "/debug/pprof")
}

// sum adds up the samples of stacks that have a function, whose name ends so.
func (s *Stored) sum(function string) (n int64) {
	for _, st := range s.Stacks {
		for _, i := range st.Functions {
			if strings.HasSuffix(s.Functions[i].Name, function) {
				n += st.Samples
				break
			}
		}
	}
	return n
}

func (s *Stored) all() (n int64) {
	for _, st := range s.Stacks {
		n += st.Samples
	}
	return n
}
