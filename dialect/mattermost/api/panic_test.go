package api

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"plimsoll/internal/boundary"
	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/wire"
	"plimsoll/load/workload"
)

// An answer whose reading panics is an operation of class decode, and the run is notified.
func TestAnAnswerWhoseReadingPanicsIsOfClassDecode(t *testing.T) {
	addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "{}")
	})
	reg := measure.NewRegistry(1)
	var told []*boundary.Panic
	env := workload.Env{URL: addr, Registry: reg, Pace: 1, Timeout: time.Minute,
		Panicked: func(p *boundary.Panic) {
			told = append(told, p)
		}}
	u := workload.NewUser(0, 0, 1, 1, reg.Recorder(0), clock.New(time.Now()))
	c, err := NewClient(Options{URL: addr, Timeout: env.Timeout, Recorder: u,
		Table: NewTable(reg, ""), Note: func(err error) {
			env.Panic(err)
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	u.Schedule(u.Now())
	err = c.call(t.Context(), opGetPosts, &wire.Request{}, func(*wire.Response) error {
		panic("odd")
	}, "x")
	if e, ok := errors.AsType[*OpError](err); !ok || e.Class != measure.Decode {
		t.Errorf("%v", err)
	}
	if len(told) != 1 || told[0].Value != "odd" {
		t.Errorf("told %v", told)
	}
	for _, w := range reg.Cut() {
		if w.Name == "get_posts" && w.Classes[measure.Decode] != 1 {
			t.Errorf("recorded %v", w.Classes)
		}
	}
	if err := c.call(t.Context(), opGetPosts, &wire.Request{}, func(*wire.Response) error {
		return nil
	}, "x"); err != nil {
		t.Errorf("the next one: %v", err)
	}
}
