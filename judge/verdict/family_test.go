package verdict_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
)

// metrics makes n pairs of count latencies of 100 ms and up; the first slow ones are changed by
// change.
func metrics(rng *rand.Rand, count, n, slow int, change float64) []verdict.Metric {
	out := make([]verdict.Metric, count)
	for g := range out {
		out[g] = verdict.Metric{
			Name:   fmt.Sprintf("p95(op%03d)", g),
			Unit:   "ms",
			Better: plan.Lower,
			Floor:  2,
		}
		// of one run: the difference has 4 or 12 %
		sd := []float64{0.04, 0.12}[rng.IntN(2)] / math.Sqrt2
		for b := range n {
			hour := 0.04 * rng.NormFloat64()
			p := verdict.Pair{
				Block: b + 1,
				Base:  100 * math.Exp(hour+sd*rng.NormFloat64()),
				New:   100 * math.Exp(hour+sd*rng.NormFloat64()),
			}
			if g < slow {
				p.New *= 1 + change
			}
			out[g].Pairs = append(out[g].Pairs, p)
		}
	}
	return out
}

// names returns those of metrics, sorted.
func names(s []verdict.Secondary) (out []string) {
	for _, m := range s {
		out = append(out, m.Name)
	}
	slices.Sort(out)
	return out
}

// certain is a metric with a floor of 2 ms whose nine pairs hardly vary.
func certain(name string, better plan.Direction, base, fresh float64) verdict.Metric {
	m := verdict.Metric{Name: name, Unit: "ms", Better: better, Floor: 2}
	for b := range 9 {
		m.Pairs = append(m.Pairs, verdict.Pair{
			Block: b + 1,
			Base:  base,
			New:   fresh * (1 + 0.0001*float64(b%3)),
		})
	}
	return m
}

// serverMetric is one of a server in six blocks, without calls.
func serverMetric(rng *rand.Rand, k int, change, sd float64) verdict.Metric {
	m := verdict.Metric{Name: fmt.Sprintf("server %d", k), Better: plan.Lower, Alone: true}
	for b := range 6 {
		m.Pairs = append(m.Pairs, verdict.Pair{
			Block: b + 1,
			Base:  100 * math.Exp(sd*rng.NormFloat64()),
			New:   100 * change * math.Exp(sd*rng.NormFloat64()),
		})
	}
	return m
}

func TestFamilyFindsWhatChanged(t *testing.T) {
	rng := rand.New(rand.NewPCG(300, 1))
	all := metrics(rng, 60, 6, 4, 0.5)
	for i := range all[3].Pairs { // one of the four is better
		all[3].Pairs[i].Base, all[3].Pairs[i].New = all[3].Pairs[i].New, all[3].Pairs[i].Base
	}
	base := map[string]int64{"post": 100, "old": 5, "none": 0}
	fresh := map[string]int64{"post": 90, "thread": 7, "none": 0}
	f := verdict.JudgeFamily(all, base, fresh)
	if got, want := names(f.Worsened), []string{"p95(op000)", "p95(op001)", "p95(op002)"}; !slices.Equal(
		got,
		want,
	) {
		t.Errorf("worsened: got %v, want %v", got, want)
	}
	if got, want := names(f.Improved), []string{"p95(op003)"}; !slices.Equal(got, want) {
		t.Errorf("improved: got %v, want %v", got, want)
	}
	if len(f.Unclear) != 56 || f.Tested != 60 {
		t.Errorf("%d unclear of %d tested, want 56 of 60", len(f.Unclear), f.Tested)
	}
	for i, m := range f.Unclear {
		if i > 0 && math.Abs(m.T) > math.Abs(f.Unclear[i-1].T) {
			t.Errorf("%s is out of order", m.Name)
		}
		if m.Kind == verdict.Same {
			t.Errorf("%s: a family never says the same", m.Name)
		}
	}
	if w := f.Worsened[0]; !(w.Lo < w.Effect && w.Effect < w.Hi && w.Lo > w.Floor) ||
		w.Floor != 0.03 ||
		w.Q > 0.10 ||
		w.P > w.Q {
		t.Errorf("the first finding does not fit itself: %+v", w)
	}
	if !slices.Equal(f.Appeared, []string{"thread"}) || !slices.Equal(f.Vanished, []string{"old"}) {
		t.Errorf("appeared %v, vanished %v", f.Appeared, f.Vanished)
	}
	for _, part := range []string{"of 60 further metrics 3 worsened and 1 improved", "appeared: thread", "vanished: old"} {
		if !strings.Contains(f.Sentence, part) {
			t.Errorf("%q lacks %q", f.Sentence, part)
		}
	}
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var back verdict.Family
	if err := json.Unmarshal(data, &back); err != nil || len(back.Worsened) != 3 ||
		back.Worsened[0].Q != f.Worsened[0].Q {
		t.Errorf("JSON does not come back: %v", err)
	}
}

// TestFamilyFloor has changes that are certain and do not matter: 1 ms of 20 is 5 % and below 2 ms.
func TestFamilyFloor(t *testing.T) {
	rise := func(base, fresh float64) verdict.Metric {
		return certain(fmt.Sprintf("p50(%v)", base), plan.Lower, base, fresh)
	}
	f := verdict.JudgeFamily(
		[]verdict.Metric{rise(20, 21), rise(20.5, 23), rise(1000, 1025), rise(1001, 1040)},
		nil,
		nil,
	)
	if got, want := names(f.Worsened), []string{"p50(1001)", "p50(20.5)"}; !slices.Equal(
		got,
		want,
	) {
		t.Errorf("worsened: got %v, want %v", got, want)
	}
}

// TestFamilyFloorDownwards has the same floor of 2 ms on the way down, where the logarithm of a
// fall is larger than that of a rise by as much.
func TestFamilyFloorDownwards(t *testing.T) {
	f := verdict.JudgeFamily([]verdict.Metric{
		certain("3 to 1.7", plan.Lower, 3, 1.7), certain("3 to 0.9", plan.Lower, 3, 0.9),
		certain("20.5 to 18.6", plan.Lower, 20.5, 18.6),
		certain("20.5 to 18.4", plan.Lower, 20.5, 18.4),
		certain("1.5 to 0.1", plan.Lower, 1.5, 0.1), certain("2 to 0.1", plan.Lower, 2, 0.1),
		certain("higher, 3 to 1.7", plan.Higher, 3, 1.7),
		certain("higher, 3 to 0.9", plan.Higher, 3, 0.9),
	}, nil, nil)
	if got, want := names(f.Improved), []string{"20.5 to 18.4", "3 to 0.9"}; !slices.Equal(
		got,
		want,
	) {
		t.Errorf("improved %v, want %v", got, want)
	}
	if got, want := names(f.Worsened), []string{"higher, 3 to 0.9"}; !slices.Equal(got, want) {
		t.Errorf("worsened %v, want %v", got, want)
	}
	for _, m := range f.Unclear {
		if m.Base < 2.001 && m.P != 1 {
			t.Errorf("%s: p = %v of a fall that can not reach the floor", m.Name, m.P)
		}
	}
	if _, err := json.Marshal(f); err != nil {
		t.Error(err)
	}
}

// TestFamilyDecidesNothing from fewer than six pairs, from none, and from NaN.
func TestFamilyDecidesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(301, 1))
	f := verdict.JudgeFamily(metrics(rng, 20, 5, 20, 2), nil, nil)
	if f.Tested != 0 || len(f.Worsened)+len(f.Improved)+len(f.Unclear) != 0 ||
		len(f.Refused) != 20 ||
		!strings.Contains(f.Sentence, "fewer than 6 pairs") {
		t.Errorf("five pairs: %+v", f)
	}
	f = verdict.JudgeFamily(nil, nil, nil)
	if f.Tested != 0 || f.Sentence != "there is no further metric" {
		t.Errorf("no metric: %+v", f)
	}
	for what, spoil := range map[string]func(*verdict.Metric){
		"zero":       func(m *verdict.Metric) { m.Pairs[2].New = 0 },
		"infinite":   func(m *verdict.Metric) { m.Pairs[2].Base = math.Inf(1) },
		"twice":      func(m *verdict.Metric) { m.Pairs[2].Block = 1 },
		"censored":   func(m *verdict.Metric) { m.Pairs[2].NewCensored = true },
		"direction":  func(m *verdict.Metric) { m.Better = "" },
		"bad floor":  func(m *verdict.Metric) { m.Floor = math.NaN() },
		"nameless":   func(m *verdict.Metric) { m.Name = "" },
		"below zero": func(m *verdict.Metric) { m.Floor = -1 },
	} {
		all := metrics(rng, 3, 6, 0, 0)
		spoil(&all[1])
		if f := verdict.JudgeFamily(all, nil, nil); f.Tested != 2 || len(f.Refused) != 1 {
			t.Errorf("%s: %d tested, refused %v", what, f.Tested, f.Refused)
		}
	}
}

// TestFamilyOfRoundedNumbers has differences without spread: alone they carry no finding, beside
// others that vary they do.
func TestFamilyOfRoundedNumbers(t *testing.T) {
	flat := verdict.Metric{Name: "p50(flat)", Unit: "ms", Better: plan.Lower}
	equal := flat
	equal.Name = "p50(equal)"
	for b := range 6 {
		flat.Pairs = append(flat.Pairs, verdict.Pair{Block: b + 1, Base: 100, New: 150})
		equal.Pairs = append(equal.Pairs, verdict.Pair{Block: b + 1, Base: 100, New: 100})
	}
	f := verdict.JudgeFamily([]verdict.Metric{flat, equal}, nil, nil)
	if len(f.Worsened) != 0 || f.Tested != 1 || len(f.Refused) != 1 ||
		!strings.Contains(f.Refused[0], "were they rounded?") {
		t.Errorf("alone: %+v", f)
	}
	if _, err := json.Marshal(f); err != nil {
		t.Error(err)
	}
	f = verdict.JudgeFamily(
		append(metrics(rand.New(rand.NewPCG(303, 1)), 20, 6, 0, 0), flat, equal),
		nil,
		nil,
	)
	if len(f.Worsened) != 1 || f.Worsened[0].Name != flat.Name || f.Tested != 22 {
		t.Errorf("beside others: %+v", f)
	}
}

// TestFamilyIsSymmetric swaps the arms: a worsened metric has improved.
func TestFamilyIsSymmetric(t *testing.T) {
	rng := rand.New(rand.NewPCG(302, 1))
	all := metrics(rng, 40, 6, 5, 0.4)
	for i := range all {
		all[i].Floor = 0
	}
	f := verdict.JudgeFamily(all, nil, nil)
	for i := range all {
		for k, p := range all[i].Pairs {
			all[i].Pairs[k].Base, all[i].Pairs[k].New = p.New, p.Base
		}
	}
	g := verdict.JudgeFamily(all, nil, nil)
	if len(f.Worsened) == 0 || !reflect.DeepEqual(names(f.Worsened), names(g.Improved)) {
		t.Errorf("worsened %v, swapped improved %v", names(f.Worsened), names(g.Improved))
	}
}

// TestFamilyOfKinds has server metrics, which hardly vary, beside latencies, which do: neither may
// make the other look certain. It also has calls, their sums, and blocks that lie far off.
func TestFamilyOfKinds(t *testing.T) {
	rng := rand.New(rand.NewPCG(304, 1))
	all := metrics(rng, 40, 6, 0, 0)
	for k, change := range []float64{1.2, 1.001, 1.001} {
		all = append(all, serverMetric(rng, k, change, 0.001))
	}
	calls := verdict.Metric{
		Name:   "mean(store x)",
		Unit:   "ms",
		Better: plan.Lower,
		Floor:  0.2,
		Mean:   true,
	}
	for b := range 6 {
		calls.Pairs = append(calls.Pairs, verdict.Pair{
			Block:   b + 1,
			Base:    1,
			New:     2.5 * math.Exp(0.01*rng.NormFloat64()),
			BaseOps: 900,
			NewOps:  1000,
		})
	}
	calls.Pairs[3].New = 4
	f := verdict.JudgeFamily(append(all, calls), nil, nil)
	found := map[string]verdict.Secondary{}
	for _, m := range append(f.Worsened, f.Improved...) {
		found[m.Name] = m
	}
	if len(found) != 2 || found["server 0"].Kind != verdict.Worse ||
		found["mean(store x)"].Kind != verdict.Worse {
		t.Errorf("found %v, want server 0 and the store", found)
	}
	alone := verdict.JudgeFamily(all[:40], nil, nil)
	if with := verdict.JudgeFamily(all, nil, nil); alone.Prior != with.Prior {
		t.Errorf("prior %v with server metrics, %v without", with.Prior, alone.Prior)
	}
	m := found["mean(store x)"]
	if m.BaseCalls != 900 || m.NewCalls != 1000 || m.Contribution == nil ||
		math.Abs(*m.Contribution-(m.New-m.Base)) > 1e-9 ||
		!slices.Equal(m.Outliers, []int{4}) {
		t.Errorf("%+v", m)
	}
	if s := found["server 0"]; s.Contribution != nil || s.BaseCalls != 0 ||
		len(s.Outliers) > 0 && s.N != 6 {
		t.Errorf("%+v", s)
	}
}

// TestFamilyOfKindsCalibration compares equal builds with latencies that vary by 4 and 12 % and
// server metrics that vary by 0.2 to 20 %: any finding in at most one comparison of ten.
func TestFamilyOfKindsCalibration(t *testing.T) {
	t.Parallel()
	const times = 400
	rng := rand.New(rand.NewPCG(305, 1))
	any, servers := 0, 0
	for range times {
		all := metrics(rng, 60, 6, 0, 0)
		for k, sd := range []float64{0.002, 0.01, 0.02, 0.04, 0.08, 0.2} {
			all = append(all, serverMetric(rng, k, 1, sd))
		}
		f := verdict.JudgeFamily(all, nil, nil)
		if n := len(f.Worsened) + len(f.Improved); n > 0 {
			any++
		}
		for _, m := range append(f.Worsened, f.Improved...) {
			if strings.HasPrefix(m.Name, "server") {
				servers++
			}
		}
	}
	within(t, "equal builds: any finding", any, times, 0, 0.12)
	within(t, "equal builds: a finding among the servers", servers, times, 0, 0.06)
}
