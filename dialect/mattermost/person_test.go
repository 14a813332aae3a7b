package mattermost

import (
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

func TestThinkTime(t *testing.T) {
	const n = 400_000
	for _, tt := range []struct {
		name   string
		think  func(*rand.Rand) time.Duration
		lo, hi time.Duration
		median time.Duration
	}{
		{"uniform", uniformThink, time.Second, 38999 * time.Millisecond, 20 * time.Second},
		{"lognormal", heavyThink, 0, 600 * time.Second, 12130 * time.Millisecond},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		sum := time.Duration(0)
		lo := time.Hour
		hi := time.Duration(0)
		below := 0
		for range n {
			d := tt.think(r)
			sum += d
			lo = min(lo, d)
			hi = max(hi, d)
			if d < tt.median {
				below++
			}
		}
		if lo < tt.lo || hi > tt.hi || hi < tt.hi*9/10 {
			t.Errorf("%s: from %v to %v, want %v to %v", tt.name, lo, hi, tt.lo, tt.hi)
		}
		if mean := sum / n; mean < 19800*time.Millisecond || mean > 20200*time.Millisecond {
			t.Errorf("%s: mean %v, want 20s", tt.name, mean)
		}
		if share := float64(below) / n; math.Abs(share-0.5) > 0.005 {
			t.Errorf("%s: %.3f are below %v, want a half", tt.name, share, tt.median)
		}
	}
}

func TestZipf(t *testing.T) {
	const n, draws = 10, 200_000
	for _, s := range []float64{0, 1, 2} {
		r := rand.New(rand.NewPCG(1, 2))
		var got [n]float64
		for range draws {
			got[zipf(r, n, s)]++
		}
		sum := 0.0
		for k := range n {
			sum += math.Pow(float64(k+1), -s)
		}
		for k := range n {
			if p := math.Pow(float64(k+1), -s) / sum; math.Abs(got[k]/draws-p) > 0.005 {
				t.Errorf("exponent %v: place %d has %.4f, want %.4f", s, k, got[k]/draws, p)
			}
		}
	}
}

func TestRecent(t *testing.T) {
	const draws = 200_000
	r := rand.New(rand.NewPCG(1, 2))
	for _, tt := range []struct {
		n          int
		mean, want float64
	}{{60, 0, 29.5}, {10_000, 8, 8}, {1, 8, 0}, {2, 0.5, 0.25}} {
		sum := 0
		for range draws {
			k := recent(r, tt.n, tt.mean)
			if k < 0 || k >= tt.n {
				t.Fatalf("%d of %d", k, tt.n)
			}
			sum += k
		}
		if got := float64(sum) / draws; math.Abs(got-tt.want) > 0.02*tt.want+0.01 {
			t.Errorf("of %d posts with mean %v: %.2f back, want %.2f", tt.n, tt.mean, got, tt.want)
		}
	}
}

func TestVisits(t *testing.T) {
	a := &person{b: &Person{set: settings{visit: 5, away: time.Minute, leave: 0.5}},
		u: userOf(workload.Env{}, 0)}
	const n = 100_000
	ends := 0
	left := 0
	pause := time.Duration(0)
	for range n {
		if d := a.visit.next(a); d > 0 {
			ends++
			pause += d
			if a.visit.away {
				left++
			}
			a.visit.away = false
		}
	}
	if mean := float64(n) / float64(ends); math.Abs(mean-5) > 0.1 {
		t.Errorf("visits of %.2f actions, want 5", mean)
	}
	if mean := pause / time.Duration(ends); mean < 58*time.Second || mean > 62*time.Second {
		t.Errorf("away for %v, want 1m", mean)
	}
	if share := float64(left) / float64(ends); math.Abs(share-0.5) > 0.02 {
		t.Errorf("%.3f of the visits end with a closed window, want a half", share)
	}
}

func TestSpeedsAreDealt(t *testing.T) {
	got := map[float64]int{}
	for rank := range 20 {
		got[speedOf(rank+7)]++
	}
	if want := map[float64]int{1: 1, 2: 2, 3: 3, 6: 8, 30: 6}; !maps.Equal(got, want) {
		t.Errorf("of twenty users %v have each factor, want %v", got, want)
	}
	// Effective rate: the harmonic mean of the study is 4.41.
	rate := 0.0
	for rank := range 20 {
		rate += 1 / speedOf(rank) / 20
	}
	if math.Abs(1/rate-4.41) > 0.01 {
		t.Errorf("effective multiplier %.2f, want 4.41", 1/rate)
	}
	// Few users are mixed as well: the first ones are not all slow.
	first := 0.0
	for rank := range 8 {
		first += 1 / speedOf(rank) / 8
	}
	if first < rate/3 || first > rate*3 {
		t.Errorf("the first eight users act %.2f times as often as all", first/rate)
	}
}

func TestMix(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	m, err := newMix(Mixes()["default"], &facts{Version: version{99}})
	noError(t, err)
	const n = 400_000
	got := make([]int, len(m.actions))
	for range n {
		got[m.draw(r)]++
	}
	sum := 0.0
	for i, a := range m.actions {
		p := m.total[i] - sum
		sum = m.total[i]
		if d := math.Abs(float64(got[i])/n - p); d > 5*math.Sqrt(p*(1-p)/n)+1e-9 {
			t.Errorf("%s: share %.4f, want %.4f", a.name, float64(got[i])/n, p)
		}
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Errorf("the shares add up to %v", sum)
	}
	if _, err := newMix(map[string]float64{"dance": 1}, &facts{}); err == nil {
		t.Error("a mix of unknown actions passed")
	}
	for name, w := range Mixes() {
		for boosted := range boosts[name] {
			if w[boosted] == 0 && slices.ContainsFunc(actions, func(a action) bool {
				return a.name == boosted
			}) {
				t.Errorf("mix %s lacks %s", name, boosted)
			}
		}
	}
}

// Each action has a name of its own, a body and a proof, and a weight unless only plans give it one.
func TestActionsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range actions {
		if a.name == "" || seen[a.name] || (a.weight <= 0) != slices.Contains(integrations, a.name) || a.do == nil || a.prove == nil ||
			a.needs >= numFeatures {
			t.Errorf("action %q is incomplete or there twice", a.name)
		}
		seen[a.name] = true
	}
}

func TestFeatures(t *testing.T) {
	for in, want := range map[string]version{"5.37.0.5.37.0.abc.false": {5, 37, 0},
		"10.5.1": {10, 5, 1}, "": {}, "11": {11}} {
		if got := parseVersion(in); got != want {
			t.Errorf("%q: %v, want %v", in, got, want)
		}
	}
	if !(version{5, 37}).before(version{5, 38}) || (version{10, 0}).before(version{9, 11, 2}) ||
		(version{1, 2, 3}).before(version{1, 2, 3}) {
		t.Error("versions in a wrong order")
	}
}

func TestMessages(t *testing.T) {
	a := &person{chance: newChance(), knowledge: knowledge{current: -1}, b: &Person{}}
	a.b.IDs = make([]string, 50)
	a.b.set.users = "u-"
	a.renew(5, 6)
	const n = 20_000
	words := 0
	mentions := 0
	emoji := 0
	linked := 0
	files := 0
	for range n {
		c := a.compose(rootWords)
		if len(c.files) > 0 {
			files++
		}
		for w := range strings.FieldsSeq(c.plain()) {
			switch {
			case w[0] == '@':
				mentions++
			case w[0] == ':':
				emoji++
			case strings.HasPrefix(w, "https://"):
				linked++
			default:
				words++
			}
		}
	}
	if m := float64(words) / n; m < 34 || m > 35 {
		t.Errorf("%.1f words on average, want 34.5", m)
	}
	for what, k := range map[string]int{"mentions": mentions, "emojis": emoji, "links": linked,
		"files": 5 * files} {
		if k < n/10-350 || k > n/10+350 {
			t.Errorf("%d %s in %d messages, want a tenth (files: a fiftieth)", k, what, n)
		}
	}
}

func TestParams(t *testing.T) {
	for _, bad := range []map[string]string{
		{"chanels": "1"}, {"channels": "0"}, {"channels": "x"}, {"channels": "1001"},
		{"channel": "short"}, {"team": "Bad Name"},
		{"speed": "-1"}, {"speed": "NaN"}, {"speed": "fast"}, {"memberships": "0"}, {"users": "A"},
		{"bot": "a-name-of-23-characters"}, {"users": "a-name-of-17-char"},
		{"think": "hard"}, {"popularity": "-1"}, {"fanout": "0.1"}, {"fanout": "101%"}, {"recency": "x"},
		{"images": "all"}, {"parallel": "1"},
		{"connections": "0"}, {"periodic": "no"}, {"visit": "-1"}, {"away": "0s"}, {"leave": "%"},
		{"devices": "4"}, {"direct": "-1"},
	} {
		err := Check(bad)
		if err == nil {
			t.Errorf("%v passed", bad)
			continue
		}
		for key := range bad {
			if !strings.Contains(err.Error(), key) {
				t.Errorf("%v: %v does not name the setting", bad, err)
			}
		}
	}
	s, err := parse(map[string]string{"channels": "3", "team": "abc", "bot_token": "${ENV:X}"},
		DefaultMix)
	if err != nil || s.channels != 3 || s.memberships != 3 || s.users != "abc-user-" ||
		s.bot != "abc-bot" || s.speed != 0 {
		t.Errorf("got %+v, %v", s, err)
	}
	env := workload.Env{Params: map[string]string{"bot_token": "${ENV:X}", "user_password": "p"}}
	if secret(&env, "bot_token") != "" || secret(&env, "user_password") != "p" {
		t.Error("secrets from settings")
	}
	env.Secret = func(name string) string { return "from " + name }
	if secret(&env, "bot_token") != "from bot_token" {
		t.Error("Env.Secret does not come first")
	}
}

func TestPersonName(t *testing.T) {
	for rank, want := range map[int]string{0: "u-00000", 7: "u-00007", 12345: "u-12345",
		123456: "u-123456"} {
		if got := personName("u-", rank); got != want {
			t.Errorf("rank %d: %s, want %s", rank, got, want)
		}
	}
}

// The manual names every setting and every storm.
func TestManualNamesEverySetting(t *testing.T) {
	text, err := os.ReadFile("../../docs/workload.md")
	noError(t, err)
	for key := range Params {
		if !strings.Contains(string(text), "`"+key+"`") {
			t.Errorf("docs/workload.md does not mention the setting %s", key)
		}
	}
	for _, kind := range (&Person{}).StormKinds() {
		if !strings.Contains(string(text), "`"+kind+"`") {
			t.Errorf("docs/workload.md does not mention the storm %s", kind)
		}
	}
}

func TestARunKnowsNothingOfTheOneBefore(t *testing.T) {
	b := &Person{dir: newDirectory()}
	b.accounts = accounts{IDs: []string{testID("u", 0).String()}, Tokens: []string{"tok"}}
	actor := func(reg *measure.Registry) *person {
		t.Helper()
		u := userOf(workload.Env{Registry: reg}, 0)
		a := newActor(t, b, workload.Env{URL: "http://127.0.0.1:9", Pace: 1, Registry: reg}, u)
		return a.(*person)
	}
	first := measure.NewRegistry(1)
	actor(first)
	ch := b.dir.channel(api.Channel{ID: testID("c", 0).String()})
	b.dir.see(ch, api.Seen{ID: testID("p", 0), UserID: testID("u", 9), CreateAt: 1})
	actor(first)
	if b.dir.known(ch.id) != ch {
		t.Fatal("a second person of the same run does not know what the first has seen")
	}
	a := actor(measure.NewRegistry(1))
	if b.dir.known(ch.id) != nil {
		t.Error("a channel and its posts outlived the run in which they were seen")
	}
	if got := b.dir.account(a.self); got.id.String() != a.id || got.name != personName("", 0) {
		t.Errorf("the person is %q in the directory", got.name)
	}
}
