package study

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/dialect"
	"plimsoll/load/measure"
	"plimsoll/record"
)

// TestThePublishedFiguresBreakTheLaw: 13,961 stories a minute of 51 ms are 11.9 requests at a time,
// of three threads.
func TestThePublishedFiguresBreakTheLaw(t *testing.T) {
	const n = publishedMySQL * 60
	l := Law{
		Users:    publishedThreads,
		Span:     time.Hour,
		Requests: n,
		Response: time.Duration(n * publishedLatency * float64(time.Millisecond)),
		Longest:  time.Second,
	}
	if got := l.InFlight(); math.Abs(got-11.867) > 0.001 || l.Holds() {
		t.Errorf("%.3f under way of %d, holds: %v; want 11.867 and no", got, l.Users, l.Holds())
	}
	l.Users = 12
	if !l.Holds() {
		t.Error("twelve threads could have done it")
	}
}

// TestTheLawOfALoop simulates users in a closed loop, cut anywhere: the law holds always, and not
// when a figure is wrong.
func TestTheLawOfALoop(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 200 {
		l := Law{
			Users: 1 + rng.IntN(20),
			Span:  time.Duration(1+rng.IntN(20)) * 50 * time.Millisecond,
		}
		for range l.Users {
			for at := -time.Duration(rng.Int64N(int64(time.Second))); ; {
				at += time.Duration(rng.Int64N(int64(100 * time.Microsecond))) // the user's own
				d := time.Duration(rng.ExpFloat64() * float64(10*time.Millisecond))
				if at += d; at >= l.Span {
					break
				}
				if at >= 0 {
					l.Response += d
					l.Server += d * 8 / 10
					l.Longest = max(l.Longest, d)
					l.Requests++
				}
			}
		}
		if !l.Holds() {
			t.Fatalf("%+v: %.3f ± %.3f under way of %d", l, l.InFlight(), l.Tolerance(), l.Users)
		}
		if own := l.OwnPerRequest(); l.Requests > 2000 && own > 150*time.Microsecond {
			t.Errorf("%v of their own per request, want about 50 µs", own)
		}
		for name, wrong := range map[string]func(*Law){
			"counted twice":            func(l *Law) { l.Response *= 2 },
			"a service that is slower": func(l *Law) { l.Server *= 2 },
			"no measured time":         func(l *Law) { l.Span = 0 },
		} {
			bad := l
			if wrong(&bad); bad.Holds() && l.InFlight() > 0.9*float64(l.Users) &&
				l.Tolerance() < 0.5*float64(l.Users) {
				t.Fatalf("%s: %+v holds", name, bad)
			}
		}
	}
}

var arms = []StudiedArm{
	{
		Name:    "base",
		Label:   "MySQL",
		Variant: mysqlPlain,
		Server:  "MariaDB 10.11",
	}, {Name: "pg", Label: "PostgreSQL", Variant: postgresPlain},
	{
		Name:    "bridge",
		Label:   "bridge",
		Variant: bridged,
	}, {Name: "host", Label: "host", Variant: hosted},
}

// played is a comparison: by arm, the factor of its throughput and mean response; noise is the
// spread of single runs.
func played(blocks int, noise float64, factors map[string][2]float64) (runs []RunFigures) {
	rng := rand.New(rand.NewPCG(3, 9))
	for b := 1; b <= blocks; b++ {
		for _, a := range arms {
			f, ok := factors[a.Name]
			if !ok {
				continue
			}
			wobble := func() float64 { return math.Exp(noise * rng.NormFloat64()) }
			x := Figures{
				PerMinute: 60_000 * f[0] * wobble(),
				Mean:      1.5 * f[1] * wobble(),
				P50:       1,
				P95:       3,
			}
			server := x
			server.Mean *= 0.8
			curve := dialect.Curve{T: []float64{0.5, 1.5}, V: []float64{1, 2}}
			all := Curves{curve, curve, curve, curve}
			runs = append(runs, RunFigures{
				ID:     fmt.Sprint(a.Name, b),
				Arm:    a.Name,
				Block:  b,
				Client: x,
				Server: server,
				Over:   all,
				Within: all,
				Slope:  0.001 * rng.NormFloat64(),
				Shares: map[string]float64{"database": 0.25, "wide": 0.5},
				Law: Law{
					Users:    3,
					Span:     20 * time.Second,
					Response: 57 * time.Second,
					Server:   48 * time.Second,
					Longest:  30 * time.Millisecond,
					Requests: 40_000,
				},
			})
		}
	}
	return runs
}

func even(throughput float64) map[string][2]float64 {
	return map[string][2]float64{
		"base":   {1, 1},
		"pg":     {throughput, 1},
		"bridge": {throughput, 1},
		"host":   {throughput, 1},
	}
}

// TestWhatBecomesOfAClaim: the sentence follows from our interval, and holds both figures.
func TestWhatBecomesOfAClaim(t *testing.T) {
	claim := Claims()[0]
	if math.Abs(claim.Ratio-1.1104) > 1e-4 {
		t.Fatalf("the published ratio is %v", claim.Ratio)
	}
	for _, c := range []struct {
		blocks     int
		noise      float64
		throughput float64
		want       Outcome
		say        []string
	}{
		{6, 0.005, 1.11, Reproduces, []string{"1.11 [", "(6 blocks)", "1.11 (15,502 to 13,961; one run each, no interval) published", "It reproduces"}},
		{6, 0.005, 1.00, DoesNot, []string{"1.00 [", "does not reproduce"}},
		{6, 0.15, 1.05, Undecided, []string{"decides nothing"}},
		{6, 0.005, 1.30, DirectionOnly, []string{"1.30 [", "direction reproduces"}},
		{6, 0.005, 0.90, Opposite, []string{"0.90 [", "other way round"}},
		{4, 0.005, 1.00, DoesNot, []string{"(4 blocks)", "Below 6 blocks that is indicative only"}},
		{1, 0.005, 1.11, Undecided, []string{"(1 block)", "Too few blocks"}},
	} {
		f := claim.Judge(arms, played(c.blocks, c.noise, even(c.throughput)))
		if f.Outcome != c.want || f.N != c.blocks {
			t.Errorf("%+v: %s of %d blocks: %s", c, f.Outcome, f.N, f.Sentence)
		}
		for _, say := range c.say {
			if !strings.Contains(f.Sentence, say) {
				t.Errorf("%+v: %q does not say %q", c, f.Sentence, say)
			}
		}
	}
	two := map[string][2]float64{"base": {1, 1}, "bridge": {1, 1}}
	if f := claim.Judge(arms, played(6, 0.01, two)); f.Outcome != NotTested ||
		!strings.Contains(f.Sentence, "no block has both") {
		t.Errorf("%s: %s", f.Outcome, f.Sentence)
	}
	if f := claim.Judge(arms[:1], nil); f.Outcome != NotTested ||
		!strings.Contains(f.Sentence, "not tested") {
		t.Errorf("%s: %s", f.Outcome, f.Sentence)
	}
}

// TestWordsWithoutAFigure: a "very similar" pair reproduces when our interval lies within five per
// cent, and only then.
func TestWordsWithoutAFigure(t *testing.T) {
	host := Claims()[4]
	for _, c := range []struct {
		noise, factor float64
		want          Outcome
	}{{0.003, 1, Reproduces}, {0.003, 1.02, Reproduces}, {0.1, 1, Undecided}, {0.003, 1.2, DoesNot}} {
		factors := even(1)
		factors["host"] = [2]float64{c.factor, 1}
		if f := host.Judge(arms, played(8, c.noise, factors)); f.Outcome != c.want ||
			!strings.Contains(f.Sentence, "very similar") {
			t.Errorf("%+v: %s", c, f.Sentence)
		}
	}
}

// TestTheMeanResponse is the service's own where all runs have it, as it was in the study.
func TestTheMeanResponse(t *testing.T) {
	claim := Claims()[3]
	factors := even(1)
	factors["bridge"] = [2]float64{1, 1.3}
	runs := played(6, 0.002, factors)
	f := claim.Judge(arms, runs)
	if f.Outcome != Reproduces || !f.ServerSide ||
		!strings.Contains(f.Sentence, "as the service measured it: 1.30 [") {
		t.Errorf("%s: %s", f.Outcome, f.Sentence)
	}
	runs[3].Server = Figures{}
	if f := claim.Judge(arms, runs); f.ServerSide ||
		!strings.Contains(f.Sentence, "as the users saw it") {
		t.Errorf("%s", f.Sentence)
	}
}

// TestTheChapter has the study's charts, four of each variant and two of all, and no figure that is
// none.
func TestTheChapter(t *testing.T) {
	runs := played(6, 0.01, even(1.02))
	c := Compare(Setting{Arms: arms, Stores: "wide: built-in, in the place of Cassandra"}, runs)
	if len(c.Charts) != 18 || len(c.Tables) != 3 || len(c.Leads) != 2 {
		t.Errorf(
			"%d charts, %d tables, %d leads; want 18, 3, 2",
			len(c.Charts),
			len(c.Tables),
			len(c.Leads),
		)
	}
	names := map[string]bool{}
	for _, g := range c.Charts {
		names[g.Name] = true
		for _, l := range g.Lines {
			if len(l.Runs) != 6 {
				t.Errorf("chart %s, %s: %d runs", g.Name, l.Label, len(l.Runs))
			}
		}
	}
	if len(names) != 18 {
		t.Errorf("only %d names of charts", len(names))
	}
	text := fmt.Sprint(c.Leads, c.Notes, c.Tables)
	for _, want := range []string{"13,961", "15,502", "15,132", "11.9 requests under way", "6 of 6", "in 24 of 24 runs", "in the place of Cassandra", "40 to 60 ms", "+0.68 % a minute",
		"database 25 %", "wide 50 %", "MariaDB 10.11", "The users spent 20 % of their time waiting for the database: one that took no time at all would give 25 % more throughput"} {
		if !strings.Contains(text, want) {
			t.Errorf("the chapter does not say %q:\n%s", want, text)
		}
	}
	for _, bad := range []string{"NaN", "Inf", "%!"} {
		if strings.Contains(text, bad) {
			t.Errorf("the chapter says %q:\n%s", bad, text)
		}
	}
	runs[5].Law.Response *= 3
	if text := law(runs); !strings.Contains(text, "in 23 of 24") ||
		!strings.Contains(text, "do not believe") {
		t.Errorf("of a wrong run: %s", text)
	}
	// Little is not a reason to fail: two arms, one block, no telemetry.
	bare := played(1, 0.01, map[string][2]float64{"base": {1, 1}})
	bare[0].Server, bare[0].Law.Server, bare[0].Shares, bare[0].Slope, bare[0].Within = Figures{}, 0, nil, math.NaN(), Curves{}
	if text := fmt.Sprint(Compare(Setting{Arms: arms[:2]}, bare)); strings.Contains(text, "%!") {
		t.Errorf("%s", text)
	}
}

// TestDriftIsSeen: runs that climb as the study's did, and runs that do not.
func TestDriftIsSeen(t *testing.T) {
	runs := played(6, 0.01, map[string][2]float64{"base": {1, 1}})
	for i := range runs {
		runs[i].Slope = 0.0066 + 0.0003*float64(i%2)
	}
	if text := drift(Setting{Arms: arms}, runs); !strings.Contains(
		text,
		"which holds the published climb",
	) ||
		strings.Contains(text, "and none") {
		t.Errorf("a climb: %s", text)
	}
	for i := range runs {
		runs[i].Slope = 0.0001 * float64(i%2)
	}
	if text := drift(Setting{Arms: arms}, runs); !strings.Contains(text, "lies outside") {
		t.Errorf("no climb: %s", text)
	}
}

// readBack writes a run, its users' seconds and the service's, and reads it again.
func readBack(
	t *testing.T,
	m record.Manifest,
	users [][]*measure.Window,
	told record.Telemetry,
	server []*measure.Window,
	phases ...record.Phase,
) RunFigures {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "r")
	w, err := record.Create(dir, m)
	if err != nil {
		t.Fatal(err)
	}
	for second, ws := range users {
		if err := w.Windows(second, ws); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Telemetry(told, seconds(server)); err != nil {
		t.Fatal(err)
	}
	if err := w.Update(func(m *record.Manifest) { m.Phases = phases }); err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	ph, _ := r.Manifest.Phase("measure")
	judged := dialect.JudgedRun{
		ID:    m.ID,
		Block: m.Block,
		Users: ph.Users,
		From:  ph.From,
		To:    ph.To,
		EachSecond: func(fn func(int, []*measure.Window) bool) error {
			_, err := r.EachSecond(fn)
			return err
		},
	}
	if told.Note == "" {
		judged.EachServerSecond = r.EachTelemetrySecond
	}
	got, ok, err := Read(judged)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	return got
}

// window is n operations of a name that took d each.
func window(name string, n int, d time.Duration) *measure.Window {
	x := measure.NewWindow(name)
	x.Classes[measure.OK] = uint64(n)
	x.Response.RecordN(d, uint32(n))
	return x
}

// TestARunIsRead: figures, curves, drift and the law's sums are read from the files on disk, of the
// measured phase alone.
func TestARunIsRead(t *testing.T) {
	var users [][]*measure.Window
	var server []*measure.Window
	for second := range 36 {
		// 6 % a minute
		climb := time.Duration(float64(time.Millisecond) * math.Exp(0.06*float64(second-2)/60))
		users = append(users, []*measure.Window{
			window("participant", 10, 500*time.Microsecond),
			window("setup_story", 50, time.Second),
			window("story", 100, climb),
		})
		server = append(server, window("story", 100, climb/2))
	}
	got := readBack(t, record.Manifest{
		ID:    "r",
		Arm:   "base",
		Block: 2,
	}, users, record.Telemetry{}, server,
		record.Phase{
			Name: "ramp",
			To:   2 * time.Second,
		}, record.Phase{Name: "measure", From: 2 * time.Second, To: 32 * time.Second, Users: 3})
	if got.Client.PerMinute != 6000 || got.Client.Mean < 1 || got.Client.Mean > 1.03 ||
		got.Server.PerMinute != 6000 ||
		got.Server.Mean > 0.52 {
		t.Errorf("figures %+v and %+v", got.Client, got.Server)
	}
	if math.Abs(got.Slope-0.06) > 0.001 {
		t.Errorf("slope %v, want 0.06 a minute", got.Slope)
	}
	if n := len(got.Over.Mean.T); n != 15 || got.Over.PerMinute.V[3] != 6000 ||
		got.Over.Mean.T[1] != 2 ||
		len(got.Within.P95.V) != 15 {
		t.Errorf("%d points %v, want 15 of two seconds", n, got.Over.PerMinute)
	}
	l := got.Law
	if l.Users != 3 || l.Requests != 30*110 || l.Span != 30*time.Second ||
		l.Longest < time.Millisecond ||
		l.Server <= 0 ||
		l.Server >= l.Response ||
		!l.Holds() {
		t.Errorf("law %+v", l)
	}
	if want := 30 * (100*1015*time.Microsecond + 10*500*time.Microsecond); l.Response < want*99/100 ||
		l.Response > want*101/100 {
		t.Errorf("%v of response, want about %v", l.Response, want)
	}
}

// TestTelemetryThatEndsEarly is not taken for that of the whole phase.
func TestTelemetryThatEndsEarly(t *testing.T) {
	var users [][]*measure.Window
	for range 30 {
		users = append(users, []*measure.Window{window("story", 100, 2*time.Millisecond)})
	}
	server := slices.Repeat([]*measure.Window{window("story", 100, time.Millisecond)}, 10)
	got := readBack(
		t,
		record.Manifest{ID: "r"},
		users,
		record.Telemetry{Note: "the bus was not read beyond record 1000: away"},
		server,
		record.Phase{Name: "measure", To: 30 * time.Second, Users: 3},
	)
	if got.Client.PerMinute != 6000 {
		t.Fatal(got.Client)
	}
	if got.Server != (Figures{}) || got.Law.Server != 0 || len(got.Within.Mean.T) > 0 {
		t.Errorf(
			"the service's figures %+v, law %v: they are of ten seconds of thirty",
			got.Server,
			got.Law.Server,
		)
	}
}

func seconds(ws []*measure.Window) iter.Seq2[int, []*measure.Window] {
	return func(yield func(int, []*measure.Window) bool) {
		for i, w := range ws {
			if !yield(i, []*measure.Window{w}) {
				return
			}
		}
	}
}
