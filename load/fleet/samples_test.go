package fleet

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/watch/series"
)

// sampling is a fleet of n agents that have just reported, agent k with the value k.
func sampling(n int) *RemoteDriver {
	d := new(RemoteDriver)
	for k := range n {
		a := &agent{n: k}
		a.took(&report{
			Lag: time.Duration(k%20) * time.Millisecond,
			Samples: []series.Sample{{
				Name:   "x",
				Labels: []series.Label{{Name: "a", Value: "b"}},
				Value:  float64(k),
			}, {Name: "files_limit", Value: float64(k)}},
		}, time.Now())
		d.agents = append(d.agents, a)
	}
	return d
}

func keys(list []series.Sample) (out []string) {
	for _, s := range list {
		out = append(out, fmt.Sprintf("%s %v", s.AppendKey(nil), s.Value))
	}
	return out
}

// Of more than sixteen agents the worst, the sum and the sixteen that were latest have series.
func TestSamplesOfManyAgents(t *testing.T) {
	few, err := sampling(MostLabeled).Sample(t.Context(), time.Now())
	if err != nil || len(few) != 2*MostLabeled ||
		strings.Contains(strings.Join(keys(few), "\n"), "worst") {
		t.Errorf("%v\n%v", err, keys(few))
	}
	d := sampling(100)
	got, err := d.Sample(t.Context(), time.Now())
	if err != nil || len(got) != 2*(MostLabeled+2) {
		t.Errorf("%d samples, %v", len(got), err)
	}
	list := keys(got)
	for _, want := range []string{`x{a="b",agent="worst"} 99`, `x{a="b",agent="sum"} 4950`, `files_limit{agent="worst"} 0`, `files_limit{agent="sum"} 4950`,
		`x{a="b",agent="19"} 19`, `x{a="b",agent="99"} 99`, `x{a="b",agent="18"} 18`, `x{a="b",agent="16"} 16`} {
		if !slices.Contains(list, want) {
			t.Errorf("no %s in %q", want, list)
		}
	}
	// An agent without a sample of a series, or without any: nothing is said of all, and what is
	// known is there.
	d.agents[3].samples = d.agents[3].samples[1:]
	if got, err = d.Sample(t.Context(), time.Now()); err != nil || len(got) != 2*MostLabeled+2 {
		t.Errorf("%v, %q", err, keys(got))
	}
	for _, a := range d.agents[:50] {
		a.sampled = time.Now().Add(-time.Minute)
	}
	got, err = d.Sample(t.Context(), time.Now())
	if !says(err, "agent 0 has sent no samples") ||
		!strings.Contains(err.Error(), "and 34 further agents") ||
		strings.Contains(strings.Join(keys(got), "\n"), "sum") {
		t.Errorf("%v, %q", err, keys(got))
	}
	d.cfg.Hosts, d.cfg.Patience = new(Hosts), 20*time.Second // whose samples may come so late
	if _, err := d.Sample(t.Context(), time.Now()); !says(
		err,
		"agent 0 has sent no samples for more than 20s",
	) {
		t.Errorf("of other hosts: %v", err)
	}
	if v, _, ok := d.Sampled(77, "files_limit"); !ok || v != 77 {
		t.Errorf("%v, %v", v, ok)
	}
	if v, _, ok := d.Sampled(77, `x{a="b"}`); !ok || v != 77 {
		t.Errorf("with labels: %v, %v", v, ok)
	}
	if _, _, ok := d.Sampled(77, "x"); ok {
		t.Error("a sample with labels was taken for one without")
	}
}

// An agent that was late once keeps its series for some time.
func TestLatenessIsForgottenSlowly(t *testing.T) {
	d := sampling(40)
	a := d.agents[0]
	a.took(&report{Lag: 100 * time.Millisecond}, time.Now())
	n := 0
	for ; d.shown()[0] && n < 1000; n++ {
		a.took(&report{}, time.Now())
	}
	if n < 10 || n > 100 {
		t.Errorf("forgotten after %d reports", n)
	}
}
