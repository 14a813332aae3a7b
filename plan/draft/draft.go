package draft

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"plimsoll/plan"
)

// A Question is the purpose of a plan. Its text is the verb that carries the plan out.
type Question string

// The questions.
const (
	Hold      Question = "run"      // does the target hold the users?
	Supported Question = "capacity" // how many users does it support?
	Graded    Question = "sizing"   // which grade has each of some load steps?
	Changed   Question = "compare"  // is another one better, worse or the same?
)

// Usual returns the number of users that a draft has where nobody names one: of the test, of the
// highest load step, or at the start of a search.
func (q Question) Usual() int {
	if q == Graded {
		return 200
	}
	return 50
}

// Most returns the largest number of users in a draft for a usual number of users.
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

// Facts are the input of a draft.
type Facts struct {
	Question Question
	// File is the name that the plan will have, for the commands in its comments.
	File string
	// URL is the address of a server that runs already, or empty; What describes that server, if it
	// was asked. CA is the file of the private authority of its certificate, if it has one.
	URL, What, CA string
	// Release is the directory of a release that the plan starts, where URL is empty. Driver names
	// the driver that starts it.
	Release, Driver string
	// Other is the URL or the directory that is compared with the first one; for [Changed] alone.
	Other string
	// Engines are the engines of the databases that the plan starts.
	Engines []string
	// Behavior is the behavior of the users, With the behavior of a tenth of them for [Changed],
	// and Params the settings.
	Behavior, With string
	Params         map[string]string
	// Script is the path of a script that users follow instead, from the plan's directory.
	Script string
	// Shaped leaves the bounded test to the script's options.
	Shaped bool
	// Users is their number, 0 for the usual one, which for two releases a pilot finds.
	Users int
	// Most is the largest number of users that the target takes by Limit, one of its settings in
	// words; 0 for any.
	Most  int
	Limit string
	// Length is the time with users: of the whole test, of a search at most, of each load step, or
	// of a whole comparison. 0 is the usual one.
	Length time.Duration
	// Rules must hold; they have the syntax of plans. Empty leaves them to the program.
	Rules []string
}

// YAML returns the plan.
func (f Facts) YAML() string {
	usual, _ := f.Question.Length()
	f.Length = cmp.Or(f.Length, usual)
	versus := f.versus()
	f.Users = cmp.Or(f.Users, f.Question.Usual())
	most := f.Question.Most(f.Users)
	if f.Most > 0 {
		f.Users = min(f.Users, f.Most)
		most = min(f.Question.Most(f.Users), f.Most)
	}
	subject := f.URL + f.Release
	if f.What != "" {
		subject += " (" + f.What + ")"
	}
	users := strconv.Itoa(f.Users)
	if f.Shaped {
		return f.head("Does "+subject+" hold the users of "+f.Script+"?") + f.plan()
	}
	switch f.Question {
	case Hold:
		settle, rest := parts(f.Length, 6)
		return f.head("Does "+subject+" hold "+users+" users?") + f.plan() +
			fill(boundedText, "USERS", users+f.limit("how many at a time"), "SETTLE", plan.FormatDuration(settle),
				"MEASURE", plan.FormatDuration(rest-settle)) + f.rules("a run that breaks one ends with status 6")
	case Supported:
		start := min(f.Users, max(1, most/2))
		return f.head("How many users does "+subject+" support?") + f.plan() +
			fill(
				searchText,
				"MOST",
				strconv.Itoa(most)+f.limit(
					"the search ends there; so many accounts are made first",
				),
				"START",
				strconv.Itoa(start),
				"BUDGET",
				plan.FormatDuration(f.Length),
				"WINDOW",
				usualOf("window"),
				"RATE",
				usualOf("ramp_rate"),
				"PRECISION",
				usualOf("precision"),
			) +
			f.rules("as many users as hold all of them are supported")
	case Graded:
		settle, hold := parts(f.Length, 4)
		return f.head("How well does "+subject+" serve more and more users?") + f.plan() +
			fill(ladderText, "STEPS", f.steps()+f.limit("users, a run for each"),
				"SETTLE", plan.FormatDuration(settle), "HOLD", plan.FormatDuration(hold))
	case Changed:
		return f.head("Is "+f.Other+" better or worse than "+subject+"?") + versus.YAML()
	}
	return ""
}

// The parts of a plan. A word in capitals behind a $ stands for a value, and a tab before a comment
// for its column.
const (
	headText = `# $TITLE
$WARNING#
#   $ACCOUNTplimsoll $VERB $FILE	# carries it out
#   plimsoll plan print $FILE	# all keys, with their defaults
#
# docs/own-server.md describes the target, docs/workload.md the users.
`
	firstText = `name: $NAME
seed: 1   # the same seed gives the same load

target:
`
	elsewhereText = `  driver: external	# it runs already: nothing is started, stopped or reset
  url: $URL	# several servers in a list: [URL, URL]
  # metrics_url: http://HOST:PORT/metrics	# its Prometheus metrics, if it has some
$CA`
	releaseText = `  driver: $DRIVER
  binary: $BINARY   # the directory of the release
`
	databaseText = `
database: {engine: $ENGINES}   # started and reset by plimsoll
`
	workloadText = `
workload:
  $FOLLOW	# what each user does
  pace: 1	# the waits of people; 0.1 waits a tenth, so that few users make much load
`
	boundedText = `
bounded:
  users: $USERS
  ramp: $SETTLE	# from the first user to the last
  settle: $SETTLE	# with all users, not measured
  measure: $MEASURE	# what counts; 10m and more for a number to rely on
`
	// The steps of this search are shorter and steeper than the steps of an exact one.
	searchText = `
unbounded:
  max_users: $MOST
  start: $START	# users to begin with
  budget: $BUDGET	# the longest time
  window: 5s	# the rules look back so far; $WINDOW is steadier
  ramp_rate: 1%	# growth by the second; $RATE is gentler
  precision: 5%	# when it has found enough; $PRECISION takes longer
`
	ladderText = `
sizing:
  steps: $STEPS
  settle: $SETTLE	# with all users, not measured
  hold: $HOLD	# what counts; 10m is usual
`
)

// fill returns a part of a plan with its values, in pairs of a word and its value.
func fill(text string, values ...string) string {
	for i := 0; i < len(values); i += 2 {
		values[i] = "$" + values[i]
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	_, err := io.WriteString(w, strings.NewReplacer(values...).Replace(text))
	if err = errors.Join(err, w.Flush()); err != nil {
		panic(err) // a Builder returns none
	}
	return b.String()
}

// head returns the comment that the plan begins with.
func (f Facts) head(title string) string {
	verb := string(f.Question)
	if f.Question == Changed {
		verb += fmt.Sprint(" -minutes ", max(1, int(f.Length/time.Minute)))
	}
	warning, account := "", ""
	if f.URL != "" {
		warning = "# The test writes to the server: use one that may be filled with test data.\n"
		if f.Script == "" { // a script says itself what it needs
			account = "PLIMSOLL_ADMIN_PASSWORD=... "
		}
	}
	return fill(headText, "TITLE", clean(title), "WARNING", warning, "ACCOUNT", account,
		"VERB", verb, "FILE", f.File)
}

// plan returns the sections before the test.
func (f Facts) plan() string {
	text := fill(firstText, "NAME", f.name())
	if f.URL == "" {
		text += fill(releaseText, "DRIVER", f.Driver, "BINARY", scalar(f.Release))
	} else {
		ca := ""
		if f.CA != "" {
			ca = "  ca: " + scalar(f.CA) + "\t# the private authority of its certificate\n"
		}
		text += fill(elsewhereText, "URL", scalar(f.URL), "CA", ca)
	}
	if len(f.Engines) > 0 {
		text += fill(databaseText, "ENGINES", list(f.Engines))
	}
	follow := "behavior: " + f.Behavior
	if f.Script != "" {
		follow = "script: " + scalar(f.Script)
	}
	text += fill(workloadText, "FOLLOW", follow)
	var params strings.Builder
	for _, k := range slices.Sorted(maps.Keys(f.Params)) {
		fmt.Fprintf(&params, "    %s: %s\n", k, scalar(f.Params[k]))
	}
	if len(f.Params) > 0 {
		text += "  params:\n" + params.String()
	}
	return text
}

// limit returns a comment on a number of users, with the setting that allows no more.
func (f Facts) limit(comment string) string {
	if f.Most > 0 {
		comment += fmt.Sprintf("; at most %d, because %s", f.Most, f.Limit)
	}
	return "\t# " + clean(comment)
}

// rules returns the rules of the test.
func (f Facts) rules(comment string) string {
	if len(f.Rules) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  slo:   # %s\n", comment)
	for _, r := range f.Rules {
		fmt.Fprintf(&b, "    - '%s'\n", strings.ReplaceAll(r, "'", "''"))
	}
	return b.String()
}

// usualOf returns the default of a key of the search.
func usualOf(key string) string { return plan.Default("unbounded."+key) + " (the default)" }

// steps returns four load steps, each half of the next one.
func (f Facts) steps() string {
	var steps []string
	for _, part := range []int{8, 4, 2, 1} {
		if n := fmt.Sprint(f.Users / part); n != "0" && !slices.Contains(steps, n) {
			steps = append(steps, n)
		}
	}
	return "[" + strings.Join(steps, ", ") + "]"
}

// parts divides the time of a test: a part, a minute at most, is not measured.
func parts(all time.Duration, part int) (settle, measure time.Duration) {
	settle = max(time.Second, min(all/time.Duration(part), time.Minute).Round(time.Second))
	return settle, all - settle
}

// usualMost is the largest number of users that a search has: accounts for them are made before it
// begins.
const usualMost = 500

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

// name returns the plan's name, after its target.
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

// outside matches text that the name of a plan may not hold.
var outside = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// label returns at most the last most characters of a text, as a part of a plan's name.
func label(text string, most int, fallback string) string {
	const ends = "-._"
	text = strings.Trim(outside.ReplaceAllString(text, "-"), ends)
	text = strings.Trim(text[max(len(text)-most, 0):], ends)
	return cmp.Or(text, fallback)
}

// bare matches the texts that YAML takes for what they are; of the words that mean something else
// none does.
var bare = regexp.MustCompile(`^[A-Za-z./][A-Za-z0-9._/~+=:-]*[A-Za-z0-9_/]$`)

// scalar writes a text as a YAML value. Go's quotes use only escapes that YAML reads the same way.
func scalar(text string) string {
	if bare.MatchString(text) &&
		!slices.Contains([]string{"null", "true", "false"}, strings.ToLower(text)) {
		return text
	}
	return strconv.Quote(text)
}

// list writes a list of texts.
func list(texts []string) string {
	var all []string
	for _, text := range texts {
		all = append(all, scalar(text))
	}
	return "[" + strings.Join(all, ", ") + "]"
}
