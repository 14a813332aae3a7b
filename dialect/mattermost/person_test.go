package mattermost

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"plimsoll/workload"
)

func TestThinkTime(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	sum := time.Duration(0)
	lo, hi := time.Hour, time.Duration(0)
	const n = 200_000
	for range n {
		d := think(r)
		sum += d
		lo, hi = min(lo, d), max(hi, d)
	}
	if lo != time.Second || hi != 38999*time.Millisecond {
		t.Errorf("think times from %v to %v, want 1s to 38.999s", lo, hi)
	}
	if mean := sum / n; mean < 19900*time.Millisecond || mean > 20100*time.Millisecond {
		t.Errorf("mean %v, want 20s", mean)
	}
}

func TestSpeedsAreDealt(t *testing.T) {
	for from := range 40 {
		got := map[float64]int{}
		for rank := from; rank < from+20; rank++ {
			got[speedOf(rank)]++
		}
		for _, c := range speeds {
			if got[c.factor] != c.of20 {
				t.Fatalf("users %d to %d: %d with factor %v, want %d", from, from+19, got[c.factor], c.factor, c.of20)
			}
		}
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
	m, err := newMix(Mixes()["default"], &facts{version: version{99}})
	if err != nil {
		t.Fatal(err)
	}
	const n = 400_000
	got := make([]int, len(m.actions))
	for range n {
		got[m.draw(r)]++
	}
	sum := 0.0
	for i, a := range m.actions {
		p := m.share[i]
		sum += p
		if d := math.Abs(float64(got[i])/n - p); d > 5*math.Sqrt(p*(1-p)/n)+1e-9 {
			t.Errorf("%s: share %.4f, want %.4f", a.name, float64(got[i])/n, p)
		}
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Errorf("the shares add up to %v", sum)
	}
	if _, err := newMix(map[string]float64{"create_post": 1, "dance": 1}, &facts{}); err == nil || !strings.Contains(err.Error(), "dance") {
		t.Errorf("got %v, want an error that names the unknown action", err)
	}
	if _, err := newMix(nil, &facts{}); err == nil {
		t.Error("an empty mix passed")
	}
}

// Each action has a name of its own, a weight, a body and a proof.
func TestActionsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range actions {
		if a.name == "" || seen[a.name] || a.weight <= 0 || a.do == nil || a.prove == nil || a.needs >= numFeatures {
			t.Errorf("action %q is incomplete or there twice", a.name)
		}
		seen[a.name] = true
	}
	for f, spec := range featureSpecs {
		if spec.name == "" || spec.source == "" {
			t.Errorf("feature %d has no name or no source", f)
		}
	}
}

func TestFeatures(t *testing.T) {
	for in, want := range map[string]version{"5.37.0.5.37.0.abc.false": {5, 37, 0}, "10.5.1": {10, 5, 1}, "": {}, "11": {11}} {
		if got := parseVersion(in); got != want {
			t.Errorf("%q: %v, want %v", in, got, want)
		}
	}
	if !(version{5, 37}).before(version{5, 38}) || (version{10, 0}).before(version{9, 11, 2}) || (version{1, 2, 3}).before(version{1, 2, 3}) {
		t.Error("versions in a wrong order")
	}
}

func TestMessages(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const n = 20_000
	words, letters, mentions, emoji := 0, 0, 0, 0
	for range n {
		for w := range strings.FieldsSeq(message(r, rootWords, "u-", 50)) {
			switch {
			case w[0] == '@':
				mentions++
			case w[0] == ':':
				emoji++
			default:
				words++
				letters += len(w)
			}
		}
	}
	if m := float64(words) / n; m < 34 || m > 35 {
		t.Errorf("%.1f words on average, want 34.5", m)
	}
	if m := float64(letters) / float64(words); m < 7.4 || m > 7.6 {
		t.Errorf("words of %.2f letters on average, want 7.5", m)
	}
	for what, k := range map[string]int{"mentions": mentions, "emojis": emoji} {
		if k < n/10-250 || k > n/10+250 {
			t.Errorf("%d %s in %d messages, want a tenth", k, what, n)
		}
	}
}

func TestParams(t *testing.T) {
	for _, bad := range []map[string]string{
		{"chanels": "1"}, {"channels": "0"}, {"channels": "x"}, {"channels": "1001"}, {"channel": "short"}, {"team": "Bad Name"},
		{"speed": "-1"}, {"speed": "NaN"}, {"speed": "fast"}, {"memberships": "0"}, {"users": "A"}, {"bot": "a-name-of-23-characters"}, {"users": "a-name-of-17-char"},
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
	s, err := parse(map[string]string{"channels": "3", "team": "abc", "bot_token": "${ENV:X}"})
	if err != nil || s.channels != 3 || s.memberships != 3 || s.users != "abc-user-" || s.bot != "abc-bot" || s.speed != 0 {
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

func TestRegistry(t *testing.T) {
	for _, name := range []string{"poster", "mattermost"} {
		b, err := Behaviors().New(name)
		if err != nil || b == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Behaviors().New("nobody"); err == nil || !strings.Contains(err.Error(), "poster") {
		t.Errorf("got %v, want an error that lists the names", err)
	}
}

func TestPersonName(t *testing.T) {
	for rank, want := range map[int]string{0: "u-00000", 7: "u-00007", 12345: "u-12345", 123456: "u-123456"} {
		if got := personName("u-", rank); got != want {
			t.Errorf("rank %d: %s, want %s", rank, got, want)
		}
	}
}
