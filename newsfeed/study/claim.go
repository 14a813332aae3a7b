package study

import (
	"fmt"
	"math"

	"plimsoll/stats"
)

// The published figures of the study: of each variant one run, its last hour (the blog post "MySql
// vs PostGreSql vs Docker", 2016).
const (
	publishedMySQL      = 13_961 // stories per minute
	publishedPostgreSQL = 15_502
	publishedBridge     = 15_132
	publishedLatency    = 51.0 // mean of MySQL, ms
	publishedThreads    = 3    // of the load application
	publishedFirst      = 40.0 // mean at the beginning of the hour, ms
	publishedLast       = 60.0
)

// A Variant identifies one of the study's runs.
type Variant struct {
	Engine  string // postgresql or mysql
	Network string // none, bridge or host
}

// A StudiedArm is a variant of ours.
type StudiedArm struct {
	Name, Label string
	Variant
	// Server is the database's own name with its version.
	Server string
}

// A Claim is a published comparison of two variants. Ratio is the new one's figure to the base's.
type Claim struct {
	Text      string // "PostgreSQL against MySQL, stories per minute"
	Base, New Variant
	Latency   bool    // the mean response, not the stories per minute
	Ratio     float64 // published
	Figures   string  // that it is made of
	Vague     bool    // published in words: "very similar"
}

var (
	mysqlPlain    = Variant{"mysql", "none"}
	postgresPlain = Variant{"postgresql", "none"}
	bridged       = Variant{"postgresql", "bridge"}
	hosted        = Variant{"postgresql", "host"}
)

// Claims are the published comparisons.
func Claims() []Claim {
	rates := func(fresh, base int) string {
		return thousands(float64(fresh)) + " to " + thousands(float64(base))
	}
	const engines, bridge, host = "PostgreSQL against MySQL", "bridge container against none", "host container against none"
	const perMinute, response, similar = ", stories per minute", ", mean response", "very similar"
	return []Claim{
		{engines + perMinute, mysqlPlain, postgresPlain, false,
			publishedPostgreSQL / float64(publishedMySQL), rates(publishedPostgreSQL, publishedMySQL), false},
		{engines + response, mysqlPlain, postgresPlain, true, 1, similar, true},
		{bridge + perMinute, postgresPlain, bridged, false,
			publishedBridge / float64(publishedPostgreSQL), rates(publishedBridge, publishedPostgreSQL), false},
		{bridge + response, postgresPlain, bridged, true, 1.30, "about 30 % slower", false},
		{host + perMinute, postgresPlain, hosted, false, 1, similar, true},
		{host + response, postgresPlain, hosted, true, 1, similar, true},
	}
}

// An Outcome is the result of a claim.
type Outcome string

// The outcomes.
const (
	Reproduces    Outcome = "reproduces"
	DirectionOnly Outcome = "direction only"
	DoesNot       Outcome = "does not reproduce"
	Opposite      Outcome = "opposite"
	Undecided     Outcome = "undecided"
	NotTested     Outcome = "not tested"
)

const (
	minBlocks = stats.MinPairs // for more than an indication
	level     = 0.95           // of intervals
	// similar is the difference up to which two figures are "very similar": the runs of the study
	// vary by 4 to 8 % from minute to minute.
	similar = 0.05
)

// A ClaimResult is a claim beside our ratio, over N blocks that have both arms. Lo and Hi are NaN
// where there is no interval.
type ClaimResult struct {
	Claim
	Here, Lo, Hi float64
	N            int
	Outcome      Outcome
	Sentence     string
	// ServerSide reports that the mean response is the service's own, as the study's was.
	ServerSide bool
}

// Judge sets a claim beside the runs. It takes the first arm of each variant.
func (c Claim) Judge(arms []StudiedArm, runs []RunFigures) ClaimResult {
	f := ClaimResult{Claim: c, Here: math.NaN(), Lo: math.NaN(), Hi: math.NaN(), Outcome: NotTested}
	base, ok1 := armOf(arms, c.Base)
	fresh, ok2 := armOf(arms, c.New)
	if !ok1 || !ok2 {
		f.Sentence = fmt.Sprintf("%s: not tested here; published %s", c.Text, c.published())
		return f
	}
	f.ServerSide = c.Latency
	for _, r := range runs {
		f.ServerSide = f.ServerSide && r.Server.Mean > 0
	}
	before, after := paired(runs, base.Name, fresh.Name, c.of(f.ServerSide))
	sample, err := stats.LogRatios(before, after)
	if f.N = sample.N(); err != nil || f.N == 0 {
		f.Sentence = fmt.Sprintf("%s: no block has both; published %s", c.Text, c.published())
		return f
	}
	f.Here = math.Exp(sample.Mean())
	if in := stats.TInterval(sample, level); in.Known() {
		f.Lo, f.Hi = math.Exp(in.Lo), math.Exp(in.Hi)
	}
	f.Outcome = f.outcome()
	f.Sentence = f.text()
	return f
}

// of returns the figure that the claim is about.
func (c Claim) of(server bool) func(RunFigures) float64 {
	switch {
	case !c.Latency:
		return func(r RunFigures) float64 { return r.Client.PerMinute }
	case server:
		return func(r RunFigures) float64 { return r.Server.Mean }
	}
	return func(r RunFigures) float64 { return r.Client.Mean }
}

func armOf(arms []StudiedArm, v Variant) (StudiedArm, bool) {
	for _, a := range arms {
		if a.Variant == v {
			return a, true
		}
	}
	return StudiedArm{}, false
}

// paired returns a figure of two arms in the blocks that have both.
func paired(
	runs []RunFigures,
	base, fresh string,
	of func(RunFigures) float64,
) (before, after []float64) {
	blocks := map[int][2]float64{}
	var order []int
	for _, r := range runs {
		b, seen := blocks[r.Block]
		if !seen {
			order = append(order, r.Block)
		}
		switch r.Arm {
		case base:
			b[0] = of(r)
		case fresh:
			b[1] = of(r)
		}
		blocks[r.Block] = b
	}
	for _, n := range order {
		if b := blocks[n]; b[0] > 0 && b[1] > 0 {
			before, after = append(before, b[0]), append(after, b[1])
		}
	}
	return before, after
}

// outcome follows from the interval alone.
func (f *ClaimResult) outcome() Outcome {
	inside := func(x float64) bool { return f.Lo <= x && x <= f.Hi }
	switch {
	case math.IsNaN(f.Lo):
		return Undecided
	case f.Vague && f.Lo > 1/(1+similar) && f.Hi < 1+similar:
		return Reproduces
	case f.Vague && inside(1):
		return Undecided
	case f.Vague:
		return DoesNot
	case inside(f.Claim.Ratio) && inside(1):
		return Undecided
	case inside(f.Claim.Ratio):
		return Reproduces
	case inside(1):
		return DoesNot
	case (f.Here > 1) == (f.Claim.Ratio > 1):
		return DirectionOnly
	}
	return Opposite
}

func (c Claim) published() string {
	if c.Vague {
		return "“" + c.Figures + "”, without a figure"
	}
	return fmt.Sprintf("%.2f (%s; one run each, no interval)", c.Ratio, c.Figures)
}

// here is our ratio with its interval.
func (f *ClaimResult) here() string {
	if math.IsNaN(f.Lo) {
		return fmt.Sprintf("%.2f", f.Here)
	}
	return fmt.Sprintf("%.2f [%.2f, %.2f]", f.Here, f.Lo, f.Hi)
}

func (f *ClaimResult) text() string {
	side := ""
	switch {
	case f.Latency && f.ServerSide:
		side = ", as the service measured it"
	case f.Latency:
		side = ", as the users saw it"
	}
	text := fmt.Sprintf("%s%s: %s here (%s), %s published. %s", f.Text, side, f.here(),
		count(f.N, "block", "blocks"), f.published(), f.conclusion())
	if f.N < minBlocks {
		text += fmt.Sprintf(" Below %d blocks that is indicative only.", minBlocks)
	}
	return text
}

// conclusion is the outcome in a sentence.
func (f *ClaimResult) conclusion() string {
	vague := map[Outcome]string{
		Reproduces: "It reproduces: the interval lies within %.0f %% of no difference.",
		Undecided:  "The interval holds no difference, and more than %.0f %% as well: that decides nothing.",
		DoesNot:    "It does not reproduce: there is a difference here, perhaps of more than %.0f %%.",
	}
	switch {
	case f.Outcome == Undecided && math.IsNaN(f.Lo):
		return "Too few blocks for an interval: that decides nothing."
	case f.Vague && vague[f.Outcome] != "":
		return fmt.Sprintf(vague[f.Outcome], 100*similar)
	}
	return map[Outcome]string{
		Reproduces:    "It reproduces: the interval holds the published ratio and not 1.",
		Undecided:     "The interval holds the published ratio and no difference as well: that decides nothing.",
		DoesNot:       "It does not reproduce: the interval holds no difference, and not the published one.",
		DirectionOnly: "The direction reproduces, the size does not.",
		Opposite:      "Here it is the other way round.",
	}[f.Outcome]
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// thousands writes a number with commas.
func thousands(v float64) string {
	s := fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
