package draft

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"plimsoll/plan"
)

// A Question is what a plan is to find out. Its text is the verb that carries the plan out.
type Question string

// The questions.
const (
	Hold      Question = "run"      // does the target hold so many users?
	Supported Question = "capacity" // how many users does it support?
	Graded    Question = "sizing"   // which grade has each of some load steps?
	Changed   Question = "compare"  // is another one better, worse or the same?
)

// Usual returns the number of users that a draft has where nobody names one: of the test, of the highest load step, or
// at the start of a search.
func (q Question) Usual() int {
	if q == Graded {
		return 200
	}
	return 50
}

// Most returns the largest number of users that a draft has where it has so many.
func (q Question) Most(users int) int {
	if q == Supported {
		return max(usualMost, 10*users)
	}
	return users
}

// Length returns the usual [Facts.Length] of a question, and the shortest.
func (q Question) Length() (usual, least time.Duration) {
	switch q {
	case Supported:
		return 10 * time.Minute, 30 * time.Second
	case Changed:
		return 8 * time.Minute, time.Minute
	case Hold, Graded:
	}
	return time.Minute, 5 * time.Second
}

// Facts are what a draft is made of.
type Facts struct {
	Question Question
	// File is the name that the plan will have, for the commands in its comments.
	File string
	// URL is the address of a server that runs already, or empty; What describes that server, if it was asked. CA is the
	// file of the private authority of its certificate, if it has one.
	URL, What, CA string
	// Release is the directory of a release that the plan starts, where URL is empty. Driver names the driver that
	// starts it.
	Release, Driver string
	// Other is the URL or the directory that is compared with the first one; for [Changed] alone.
	Other string
	// Engines are those of the databases that the plan starts.
	Engines []string
	// Behavior is that of the users, With that of a tenth of them for [Changed], and Params the settings.
	Behavior, With string
	Params         map[string]string
	// Users is their number, 0 for the usual one, which for two releases a pilot finds.
	Users int
	// Most is the largest number of users that the target takes by Limit, one of its settings in words; 0 for any.
	Most  int
	Limit string
	// Length is how long the users are there: in the whole test, in a search at most, or at each load step. Of a
	// comparison it is the length of all. 0 is the usual one.
	Length time.Duration
	// Rules are those that must hold, in the syntax of plans. Empty leaves them to the program.
	Rules []string
}

// YAML returns the plan.
func (f Facts) YAML() string {
	usual, _ := f.Question.Length()
	if f.Length == 0 {
		f.Length = usual
	}
	if f.Question == Changed {
		return f.head() + f.versus().YAML()
	}
	if f.Users == 0 {
		f.Users = f.Question.Usual()
	}
	if f.Most > 0 {
		f.Users = min(f.Users, f.Most)
	}
	first := f.head() +
		block(line{"name: " + f.name(), ""}, line{"seed: 1", "the same seed gives the same load"})
	sections := []string{
		first, f.target(), database(f.Engines, "started and reset by plimsoll"), f.workload(), f.test(),
	}
	return strings.Join(slices.DeleteFunc(sections, func(s string) bool { return s == "" }), "\n")
}

// database returns the section of the engines, if there are any.
func database(engines []string, comment string) string {
	if len(engines) == 0 {
		return ""
	}
	return block(line{"database: {engine: " + list(engines) + "}", comment})
}

// A line is one of a plan, with the comment behind it.
type line struct{ code, comment string }

// block returns lines whose comments stand below one another.
func block(lines ...line) string {
	wide := 0
	for _, l := range lines {
		if l.comment != "" {
			wide = max(wide, len(l.code))
		}
	}
	var b strings.Builder
	for _, l := range lines {
		if l.comment == "" {
			fmt.Fprintf(&b, "%s\n", l.code)
		} else {
			fmt.Fprintf(&b, "%-*s   # %s\n", wide, l.code, clean(l.comment))
		}
	}
	return b.String()
}

// clean returns a text for a comment, which ends where its line does: some of it is a server's.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > mostComment {
		text = string(runes[:mostComment]) + "..."
	}
	return text
}

// mostComment is the longest comment, in characters.
const mostComment = 300

// head is the comment that the plan begins with.
func (f Facts) head() string {
	what := f.URL + f.Release
	if f.What != "" {
		what += " (" + f.What + ")"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", clean(map[Question]string{
		Hold:      "Does " + what + " hold " + fmt.Sprint(f.Users) + " users?",
		Supported: "How many users does " + what + " support?",
		Graded:    "How well does " + what + " serve more and more users?",
		Changed:   "Is " + f.Other + " better or worse than " + what + "?",
	}[f.Question]))
	flags, account := "", ""
	if f.URL != "" {
		fmt.Fprint(&b, "# The test writes to the server: use one that may be filled with test data.\n")
		account = "PLIMSOLL_ADMIN_PASSWORD=... "
	}
	if f.Question == Changed {
		flags = fmt.Sprintf("-minutes %d ", max(1, f.Length/time.Minute))
	}
	fmt.Fprint(&b, "#\n"+block(
		line{"#   " + account + "plimsoll " + string(f.Question) + " " + flags + f.File, "carries it out"},
		line{"#   plimsoll plan print " + f.File, "all keys, with their defaults"})+"#\n"+
		"# docs/own-server.md describes the target, docs/workload.md the users.\n")
	return b.String()
}

// name is the plan's, after its target.
func (f Facts) name() string {
	text := f.URL + f.Release
	if _, host, ok := strings.Cut(f.URL, "://"); ok {
		text, _, _ = strings.Cut(host, "/")
	}
	name := label(path.Base(text), 60, "first")
	if strings.EqualFold(name, "null") {
		return "first"
	}
	return name
}

// outside matches what the name of a plan may not hold.
var outside = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// label returns at most so many characters from the end of a text, as a part of a plan's name.
func label(text string, most int, fallback string) string {
	const ends = "-._"
	text = strings.Trim(outside.ReplaceAllString(text, "-"), ends)
	text = strings.Trim(text[max(len(text)-most, 0):], ends)
	return cmp.Or(text, fallback)
}

func (f Facts) target() string {
	if f.URL == "" {
		return block(line{"target:", ""}, line{"  driver: " + f.Driver, ""},
			line{"  binary: " + scalar(f.Release), "the directory of the release"})
	}
	lines := []line{{"target:", ""}, {"  driver: " + plan.External, "it runs already: nothing is started, stopped or reset"},
		{"  url: " + scalar(f.URL), "several servers in a list: [URL, URL]"},
		{"  # metrics_url: http://HOST:PORT/metrics", "its Prometheus metrics, if it has some"}}
	if f.CA != "" {
		lines = append(lines, line{"  ca: " + scalar(f.CA), "the private authority of its certificate"})
	}
	return block(lines...)
}

func (f Facts) workload() string {
	lines := []line{{"workload:", ""}, {"  behavior: " + f.Behavior, "what each user does"},
		{"  pace: 1", "the waits of people; 0.1 waits a tenth, so that few users make much load"}}
	if len(f.Params) > 0 {
		lines = append(lines, line{"  params:", ""})
	}
	for _, k := range slices.Sorted(maps.Keys(f.Params)) {
		lines = append(lines, line{"    " + k + ": " + scalar(f.Params[k]), ""})
	}
	return block(lines...)
}

// test is the section of the question.
func (f Facts) test() string {
	switch f.Question {
	case Supported:
		return f.search()
	case Graded:
		return f.ladder()
	case Hold, Changed:
	}
	ramp, settle, measure := lengths(f.Length)
	return block(line{"bounded:", ""},
		line{fmt.Sprint("  users: ", f.Users), f.limited("how many at a time")},
		line{"  ramp: " + span(ramp), "from the first user to the last"},
		line{"  settle: " + span(settle), "with all users, not measured"},
		line{"  measure: " + span(measure), "what counts; 10m and more for a number to rely on"}) + f.rules("a run that breaks one ends with status 6")
}

// lengths divides the time of a bounded test.
func lengths(all time.Duration) (ramp, settle, measure time.Duration) {
	ramp = max(time.Second, min(all/6, time.Minute).Round(time.Second))
	return ramp, ramp, all - 2*ramp
}

// usualMost is the largest number of users that a search has: accounts for them are made before it begins.
const usualMost = 500

// search looks for the capacity with steps that are shorter and steeper than those of a search that is meant to be exact.
func (f Facts) search() string {
	most := f.Question.Most(f.Users)
	if f.Most > 0 {
		most = min(most, f.Most)
	}
	return block(line{"unbounded:", ""},
		line{fmt.Sprint("  max_users: ", most), f.limited("the search ends there; so many accounts are made first")},
		line{fmt.Sprint("  start: ", min(f.Users, max(1, most/2))), "users to begin with"},
		line{"  budget: " + span(f.Length), "the longest time"},
		line{"  window: 5s", "the rules look back so far; " + usual("window") + " is steadier"},
		line{"  ramp_rate: 1%", "growth by the second; " + usual("ramp_rate") + " is gentler"},
		line{"  precision: 5%", "when it has found enough; " + usual("precision") + " takes longer"}) + f.rules("as many users as hold all of them are supported")
}

// usual names the default of a key of the search.
func usual(key string) string { return plan.Default("unbounded."+key) + " (the default)" }

// ladder has four load steps, each half of the next one.
func (f Facts) ladder() string {
	var steps []string
	for _, part := range []int{8, 4, 2, 1} {
		if n := fmt.Sprint(f.Users / part); n != "0" && !slices.Contains(steps, n) {
			steps = append(steps, n)
		}
	}
	settle := max(time.Second, min(f.Length/4, time.Minute).Round(time.Second))
	return block(line{"sizing:", ""},
		line{"  steps: [" + strings.Join(steps, ", ") + "]", f.limited("users, a run for each")},
		line{"  settle: " + span(settle), "with all users, not measured"},
		line{"  hold: " + span(f.Length-settle), "what counts; 10m is usual"})
}

// limited is a comment on a number of users, with the setting that allows no more.
func (f Facts) limited(text string) string {
	if f.Most == 0 {
		return text
	}
	return fmt.Sprintf("%s; at most %d, because %s", text, f.Most, f.Limit)
}

func (f Facts) rules(comment string) string {
	if len(f.Rules) == 0 {
		return ""
	}
	lines := []line{{"  slo:", comment}}
	for _, r := range f.Rules {
		lines = append(lines, line{"    - '" + strings.ReplaceAll(r, "'", "''") + "'", ""})
	}
	return block(lines...)
}

// span writes a time as plans do.
func span(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// bare matches the texts that YAML takes for what they are; of the words that mean something else none does.
var bare = regexp.MustCompile(`^[A-Za-z./][A-Za-z0-9._/~+=:-]*[A-Za-z0-9_/]$`)

// scalar writes a text as a YAML value. Go's quotes use only escapes that YAML reads the same way.
func scalar(text string) string {
	if bare.MatchString(text) && !slices.Contains([]string{"null", "true", "false"}, strings.ToLower(text)) {
		return text
	}
	return strconv.Quote(text)
}
