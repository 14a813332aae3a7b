package fleet

import (
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/engine"
	"plimsoll/load/measure"
	"plimsoll/record"
	"plimsoll/run/trial"
)

// silentEnd runs 50 users on two hosts for 20 s after 5 s, at a server that answers in 0.4 s. With
// silent, one of the hosts is so for 8 s, from 2.5 s before the end of the measured phase on.
func silentEnd(t *testing.T, silent bool) (w *measure.Window, ph record.Phase) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := stalled{patience: 5 * time.Second, service: 400 * time.Millisecond}
		h := new(hosts)
		d, conf := leadHosts(t, h, 2, 1, agentOf(&s, func(_ Start, _ *Agent, c *engine.Config) {
			c.Env.Seed = 3
		}))
		if silent {
			time.AfterFunc(time.Until(conf.Epoch)+22500*time.Millisecond, func() {
				h.wires[1].sever()
				time.AfterFunc(8*time.Second, h.wires[1].mend)
			})
		}
		r, _ := carryOut(t, trial.Config{
			Window:   6 * time.Second,
			Timeout:  5 * time.Second,
			Clock:    clock.New(conf.Epoch),
			Registry: conf.Registry,
			Driver:   d,
		})
		w, ph = ask(t, r)
		for range 2 {
			<-h.served
		}
	})
	return w, ph
}

// An agent that is silent when the measured phase ends counts the operations that were under way
// then, and no others.
func TestAPhaseThatEndsInASilence(t *testing.T) {
	want, with := silentEnd(t, false)
	got, without := silentEnd(t, true)
	if a, b := with.Tail.Of(nil), without.Tail.Of(nil); want.Count() != got.Count() || a != b ||
		want.Response.Max() != got.Response.Max() {
		t.Errorf(
			"with silence %d operations and the tail %+v, without %d and %+v",
			got.Count(),
			b,
			want.Count(),
			a,
		)
	}
}
