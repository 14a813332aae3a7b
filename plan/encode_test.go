package plan

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// oddArgs returns arguments, in which there may be no reference to a secret.
func oddArgs(texts []string) []string {
	if texts = slices.DeleteFunc(texts, func(s string) bool {
		return strings.Contains(s, "${ENV:X}")
	}); len(texts) == 0 {
		return nil
	}
	return texts
}

// oddText returns texts that a YAML printer gets wrong if it is careless.
func oddText(r *rand.Rand) string {
	odd := []string{
		"", " ", "a", "yes", "NO", "null", "~", "1", "1e3", "0x1f", "1_000", "2026-01-01", ".inf", "a: b", "a #b", "- a", "?", "[a]", "{a}",
		"&a", "*a", "!x", "|", ">", "'", `"`, `\`, "%", "@", "`", "a\nb", "\t", "\r", "é", "…", "\u0085", "\u2028", "\ufeff", "\U0001F600",
		"\x01", "\x7f", "<<", "=", "${HOME}", "${ENV:X}", "-fault=cpu:25%", "a,b", "---", "...", ": ", "p95(post)", "null(x)", "\u00a0",
	}
	s := odd[r.IntN(len(odd))]
	for r.IntN(2) == 0 {
		s += odd[r.IntN(len(odd))]
	}
	return s
}

// oddPlan returns a plan that Parse could have made, as odd as possible.
func oddPlan(r *rand.Rand) *Plan {
	texts := func() []string {
		var s []string
		for r.IntN(2) == 0 {
			s = append(s, oddText(r))
		}
		return s
	}
	env := func() map[string]string {
		var m map[string]string
		for _, k := range []string{"A", "yes", "_", "NULL", "N"} {
			if r.IntN(3) == 0 {
				if m == nil {
					m = map[string]string{}
				}
				m[k] = oddText(r)
				// beside a reference there may be no variable
				if strings.Contains(m[k], "${ENV:X}") {
					m[k] = strings.ReplaceAll(m[k], "${HOME}", "")
				}
			}
		}
		return m
	}
	envs := func() Env {
		var e Env
		for _, engine := range append([]string{""}, engines...) {
			if vars := env(); len(vars) > 0 {
				if e == nil {
					e = Env{}
				}
				e[engine] = vars
			}
		}
		return e
	}
	names := []string{"yes", "1", "0x1", "null", "a.b", "1e3", "no", "new"}
	share := float64(1+r.IntN(999_998)) / 1e6
	rest, err := parsePercent(formatPercent(float64(1_000_000-int(share*1e6+0.5)) / 1e6))
	if err != nil {
		panic(err)
	}
	first := r.IntN(2)
	p := &Plan{
		Name:      names[r.IntN(len(names))],
		Seed:      r.Uint64(),
		Placement: Placement{Processes: 1 + r.IntN(MostProcesses)},
		Target: Target{
			Driver:    names[r.IntN(len(names))],
			Instances: 1 + r.IntN(64),
			Binary:    oddText(r),
			Args:      oddArgs(texts()),
			Env:       envs(),
			Version:   oddText(r),
		},
		Workload: Workload{
			Behavior:  "b",
			Share:     share,
			With:      map[string]float64{"yes": rest},
			Pace:      float64(1+r.IntN(99_999)) / 1000,
			Login:     LoginCold,
			ActionMix: names[r.IntN(len(names))],
			Weights:   map[string]float64{"yes": float64(r.IntN(1e6)) / 1000, "1e3": 0},
		},
		Bounded: &Bounded{
			Users:   PerEngine{"": 1 + r.IntN(50)},
			Ramp:    time.Second,
			Measure: time.Hour,
		},
		Unbounded: &Unbounded{
			Mode:      []string{Tracking, Staircase}[r.IntN(2)],
			MaxUsers:  100 + r.IntN(100),
			Start:     PerEngine{"": 1 + r.IntN(99)},
			Window:    time.Duration(1e8 + r.Int64N(1e12)),
			RampRate:  float64(10+r.IntN(900_000)) / 1e6,
			Step:      float64(100+r.IntN(400_000)) / 1e6,
			Precision: 0.02,
		},
		Sizing: &LoadSteps{
			Ramp:   Rates{Rate(1 + r.IntN(5)), Rate(6 + r.IntN(5))},
			Settle: time.Duration(r.Int64N(1e12)),
			Hold:   time.Duration(1e8 + r.Int64N(1e12)),
		},
		Compare: &Compare{
			Arms: []Arm{{Name: names[r.IntN(len(names))], Args: oddArgs(texts()), Env: envs(),
				Database: engines[first]}, {Name: Base, Database: engines[1-first]}},
			Blocks: 1 + r.IntN(100),
			Mode:   []string{"", ModeSequence, ModeDuet}[r.IntN(3)],
			Margin: DefaultMargin(),
		},
	}
	at := time.Duration(0)
	for r.IntN(3) != 0 && len(p.Bounded.Stages) < 20 {
		s := Stage{
			At:     at + time.Duration(r.Int64N(1e9)),
			Storm:  names[r.IntN(len(names))],
			Over:   time.Duration(r.Int64N(1e9)),
			Params: env(),
		}
		if r.IntN(2) == 0 {
			s.Share = float64(1+r.IntN(100)) / 100
		}
		at = s.At + s.Over
		p.Bounded.Stages = append(p.Bounded.Stages, s)
	}
	for n := r.IntN(9); r.IntN(3) != 0 && len(p.Sizing.Steps) < 9; n += 1 + r.IntN(99) {
		p.Sizing.Steps = append(p.Sizing.Steps, n+1)
	}
	for _, name := range []string{"yes", "1", "CX 23", "é"} {
		if r.IntN(2) == 0 {
			p.Prices = append(p.Prices, Offer{
				Name:     name,
				VCPU:     1 + r.IntN(99),
				Memory:   Memory(1+r.IntN(9999)) * (1 << 20),
				Price:    float64(r.IntN(1e6)) / 100,
				Currency: "EUR",
			})
			p.Sizing.Offer = name
		}
	}
	p.Unbounded.Budget = 2*p.Workload.Wait(p.Unbounded.Window) + time.Duration(1e9+r.Int64N(1e14))
	p.Compare.Margin["mean(no)"] = MarginValue{Value: float64(1+r.IntN(999)) / 1000}
	seen := map[string]bool{}
	for r.IntN(3) != 0 {
		if name := "row " + oddText(r); !seen[name] && cleanName(name) {
			seen[name] = true
			p.Setup = append(p.Setup, SetupRow{Name: name, Value: oddText(r)})
		}
	}
	for _, text := range texts() {
		if strings.TrimSpace(text) != "" {
			p.Report.Comments = append(p.Report.Comments, text)
		}
	}
	return p
}

// cleanName returns a name that the parser accepts from authors.
func cleanName(s string) bool {
	for _, c := range s {
		if c < ' ' || c == 0x7f {
			return false
		}
	}
	return len(s) <= 128
}

// ReadAgain returns the plan as its canonical form is read. It ends the test if that is another
// plan.
func ReadAgain(tb testing.TB, p *Plan) *Plan {
	tb.Helper()
	again, err := Parse([]byte(p.String()))
	if err != nil || again.Digest() != p.Digest() {
		tb.Fatalf("the canonical form is another plan: %v\n%s", err, p)
	}
	return again
}

// The canonical form of any plan is read as the same plan.
func TestStringRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		p := oddPlan(r)
		text := p.String()
		again, err := Parse([]byte(text))
		if err != nil {
			t.Fatalf("%v\nin\n%s", err, text)
		}
		if diff := cmp.Diff(p, again); diff != "" {
			t.Fatalf("(-printed +read)\n%s\nin\n%s", diff, text)
		}
	}
}
