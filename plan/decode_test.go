package plan_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/plan"
)

// minimal is a plan to which the cases add one mistake; its last line is line 4.
const minimal = "name: n\ntarget: {driver: server}\nworkload: {behavior: poster}\nbounded: {users: 5}\n"

// TestUnreadable: an empty file and one that is too large are told from a plan.
func TestUnreadable(t *testing.T) {
	for src, want := range map[string]string{
		"": "1:1: the plan is empty; it needs at least name",
		minimal + "# " + strings.Repeat("x", plan.MaxSource): "1:1: the plan is larger than 1048576 bytes",
	} {
		if p, err := plan.Parse([]byte(src)); p != nil || err == nil ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("plan %v, error %v; want %s", p, err, want)
		}
	}
}

// All mistakes of one file come at once and in its order.
func TestAllProblemsAtOnce(t *testing.T) {
	src, err := os.ReadFile("testdata/wrong.yaml")
	failure.None(t, err)
	_, err = plan.Parse(src)
	if err == nil {
		t.Fatal("accepted")
	}
	golden(t, "wrong.golden", []byte(err.Error()+"\n"))
	for range 20 {
		if _, again := plan.Parse(src); again.Error() != err.Error() {
			t.Fatalf("two runs differ:\n%v\n\n%v", err, again)
		}
	}
}

func TestAliasBomb(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x]\n")
	for i := range 60 {
		fmt.Fprintf(&b, "a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	_, err := plan.Parse([]byte(b.String()))
	failure.Says(t, err, "are not allowed in plans")
	if _, err := plan.Parse([]byte(strings.Repeat("[", 200000))); err == nil {
		t.Error("accepted 200000 brackets")
	}
	if _, err := plan.Parse([]byte("a: &a [*a]\n")); err == nil {
		t.Error("accepted a list that holds itself")
	}
}

func TestKnown(t *testing.T) {
	k := plan.Known{
		Drivers:   []string{"server", "external"},
		Behaviors: []string{"poster", "reader"},
		Ops:       []string{"post", "login"},
		Roles:     map[string][]string{"server": {"app", "db"}},
	}
	const src = `name: n
target: {driver: %s}
workload: {behavior: %s, with: {%s: 10%%}}
unbounded: {max_users: 9, slo: [p99(%s) < 2s, cpu(%s) < 85%%, p99(delivery) < 1s, p99(op) < 1s]}
`
	failure.None(t,
		failure.Of(k.Parse(fmt.Appendf(nil, src, "server", "poster", "reader", "post", "app"))))
	_, err := k.Parse(fmt.Appendf(nil, src, "server", "postr", "raeder", "psot", "ap"))
	const want = `3:22: workload.behavior: "postr" is not a known behavior; did you mean "poster"? known: poster, reader
3:44: workload.with.raeder: "raeder" is not a known behavior; did you mean "reader"? known: poster, reader
4:33: unbounded.slo[0]: "psot" is not an operation; did you mean "post"? known: op, delivery, post, login
4:49: unbounded.slo[1]: the target server has no role "ap" to watch; did you mean "app"? roles: app, db`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if _, err := k.Parse(fmt.Appendf(nil, src, "sever", "poster", "reader", "post", "ap")); err == nil ||
		err.Error() != `2:18: target.driver: "sever" is not a known driver; did you mean "server"? known: server, external` {
		t.Errorf("got %v", err)
	}
}

func TestKnownProfiles(t *testing.T) {
	k := plan.Known{
		Drivers:  []string{"server", "other"},
		Profiles: map[string][]string{"server": {"quick", "full"}},
	}
	const src = "name: n\ntarget: {driver: %s, profile: %s}\nworkload: {behavior: poster}\nbounded: {users: 5}\n"
	for _, name := range []string{"quick", "full"} {
		p, err := k.Parse(fmt.Appendf(nil, src, "server", name))
		if err != nil || p.Target.Profile != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, c := range []struct{ driver, profile, want string }{
		{"server", "fall", `2:35: target.profile: "fall" is not a known profile of the driver server; did you mean "full"? known: quick, full`},
		{"server", `""`, `2:35: target.profile: "" cannot be a name; want letters, digits, dot, underscore and dash, at most 64`},
		{"other", "full", `2:34: target.profile: has no effect, because the driver other has no profiles; remove it`},
		{"sever", "full", `2:18: target.driver: "sever" is not a known driver; did you mean "server"? known: server, other`},
	} {
		if _, err := k.Parse(fmt.Appendf(nil, src, c.driver, c.profile)); err == nil ||
			err.Error() != c.want {
			t.Errorf("%s %s: got\n%v\nwant\n%s", c.driver, c.profile, err, c.want)
		}
	}
}

func TestKnownMixesAndStorms(t *testing.T) {
	k := plan.Known{
		Mixes:   []string{"busy"},
		Actions: map[string][]string{"reader": {"post", "react"}},
		Storms:  map[string][]string{"poster": nil, "reader": {"reconnect", "join"}},
	}
	const src = `name: n
target: {driver: server}
workload: {behavior: %s, mix: %s, weights: {%s: 1}}
bounded: {users: 5, stages: [{at: 5s, storm: %s}]}
`
	for _, tt := range []struct {
		behavior, mix, action, storm string
		want                         string
	}{
		{"reader", "default", "post", "join", ""},
		{"reader", "busy", "post", "join", ""},
		{"reader", "custom", "react", "join", ""},
		{"reader", "./mine.yaml", "react", "join", ""},
		{"reader", "mine.yml", "react", "join", ""},
		{"reader", "bussy", "post", "join", `3:35: workload.mix: "bussy" is not a known mix; did you mean "busy"? known: default, custom, busy`},
		{"reader", "busy", "raect", "join", `3:58: workload.weights.raect: "raect" is not a known action; did you mean "react"? known: post, react`},
		{"reader", "busy", "post", "reconect", `4:46: bounded.stages[0].storm: "reconect" is not a known storm of these behaviors; did you mean "reconnect"? known: join, reconnect`},
		{"poster", "busy", "post", "join", `3:35: workload.mix: has no effect, because no behavior of this plan draws its actions by weight; remove it
3:50: workload.weights: has no effect, because no behavior of this plan draws its actions by weight; remove it
4:46: bounded.stages[0].storm: no behavior of this plan knows a storm; remove`},
	} {
		_, err := k.Parse(fmt.Appendf(nil, src, tt.behavior, tt.mix, tt.action, tt.storm))
		if tt.want == "" && err != nil ||
			tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want)) {
			t.Errorf("%+v:\n%v", tt, err)
		}
	}
}

func TestParseWeights(t *testing.T) {
	k := plan.Known{Actions: map[string][]string{"reader": {"post", "react"}}}
	got, err := k.ParseWeights([]byte("# measured\npost: 1\nreact: 0.13\n"))
	if err != nil || got["post"] != 1 || got["react"] != 0.13 || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	for _, tt := range []struct{ src, want string }{
		{"", "1:1: the file is empty"},
		{"- 1\n", "1:1: weights: is a list; want a mapping"},
		{"post: 1\npots: 2\n", `2:7: weights.pots: "pots" is not a known action; did you mean "post"?`},
		{"post: x\n", `1:7: weights.post: "x" is not a number`},
		{"post: 1000000000\n", `1:7: weights.post: 1000000000 is out of range; want 0 to 1000000`},
		{"post: 0\n", "1:1: weights: gives no action a weight above 0"},
		{"post: 1\npost: 2\n", "2:1: weights.post: is there twice"},
	} {
		if _, err := k.ParseWeights([]byte(tt.src)); err == nil ||
			!strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %s", tt.src, err, tt.want)
		}
	}
}

// A plan that was run is complete by itself: its digest covers every value of the file.
func TestWithWeights(t *testing.T) {
	p := mustParse(t, strings.Replace(
		minimal,
		"behavior: poster",
		"behavior: poster, mix: mixes/a.yaml, weights: {post: 3}",
		1,
	))
	if p.Workload.MixFile() != "mixes/a.yaml" {
		t.Fatalf("file %q", p.Workload.MixFile())
	}
	q := p.WithWeights(map[string]float64{"post": 1, "react": 2})
	if w := q.Workload; w.ActionMix != plan.MixCustom || w.Weights["post"] != 3 ||
		w.Weights["react"] != 2 ||
		p.Workload.Weights["react"] != 0 {
		t.Errorf("%+v", w)
	}
	again := mustParse(t, q.String())
	if again.Digest() != q.Digest() ||
		q.Digest() == p.WithWeights(map[string]float64{"post": 1}).Digest() {
		t.Error("the digest does not hold the weights")
	}
}

func FuzzParse(f *testing.F) {
	for _, src := range examples(f) {
		f.Add(src)
	}
	wrong, err := os.ReadFile("testdata/wrong.yaml")
	failure.None(f, err)
	f.Add(wrong)
	f.Add([]byte(full))
	f.Add([]byte(minimal))
	f.Fuzz(func(t *testing.T, src []byte) {
		p, err := plan.Parse(src)
		if err != nil {
			var all *plan.Error
			if !errors.As(err, &all) || len(all.Problems) == 0 {
				t.Fatalf("%q: an error without a problem: %v", src, err)
			}
			for _, one := range all.Problems {
				if one.Line < 1 || one.Col < 1 || one.Msg == "" {
					t.Fatalf("%q: a problem without a place: %+v", src, one)
				}
			}
			return
		}
		again, err := plan.Parse([]byte(p.String()))
		if err != nil {
			t.Fatalf("%q was accepted, its canonical form was not:\n%v\n%s", src, err, p)
		}
		if again.Digest() != p.Digest() || again.String() != p.String() {
			t.Fatalf("%q changed when read again:\n%s\n%s", src, p, again)
		}
	})
}
