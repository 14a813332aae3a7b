package draft

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"text/template"
	"time"
	"unicode"

	"plimsoll/plan"
)

// A Question is the purpose of a plan. Its text is the verb that carries the plan out.
type Question string

// The questions.
const (
	Hold      Question = "run"      // does the target hold so many users?
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
	// Users is their number, 0 for the usual one, which for two releases a pilot finds.
	Users int
	// Most is the largest number of users that the target takes by Limit, one of its settings in
	// words; 0 for any.
	Most  int
	Limit string
	// Length is the time with users: of the whole test, of a search at most, of each load step, or
	// of a whole comparison. 0 is the usual one.
	Length time.Duration
	// Rules are those that must hold, in the syntax of plans. Empty leaves them to the program.
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
	d := draft{Facts: f, Name: f.name(), MaxUsers: most, Start: min(f.Users, max(1, most/2))}
	subject := f.URL + f.Release
	if f.What != "" {
		subject += " (" + f.What + ")"
	}
	switch f.Question {
	case Hold:
		d.Title = fmt.Sprintf("Does %s hold %d users?", subject, f.Users)
		d.Settle, d.Measure = parts(f.Length, 6)
		d.Measure -= d.Settle
	case Supported:
		d.Title = fmt.Sprintf("How many users does %s support?", subject)
	case Graded:
		d.Title = fmt.Sprintf("How well does %s serve more and more users?", subject)
		d.Settle, d.Measure = parts(f.Length, 4)
	case Changed:
		d.Title = fmt.Sprintf("Is %s better or worse than %s?", f.Other, subject)
		d.Minutes = max(1, int(f.Length/time.Minute))
		return render("head", d) + versus.YAML()
	}
	return render("plan", d)
}

// A draft holds the facts and numbers of a plan for its template.
type draft struct {
	Facts

	Title, Name     string
	Minutes         int           // of a comparison
	MaxUsers, Start int           // of a search
	Settle, Measure time.Duration // Settle is as long as the ramp
}

// Steps returns four load steps, each half of the next one.
func (d draft) Steps() string {
	var steps []string
	for _, part := range []int{8, 4, 2, 1} {
		if n := fmt.Sprint(d.Users / part); n != "0" && !slices.Contains(steps, n) {
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

//go:embed draft.tmpl
var source string

var drafts = template.Must(template.New("").Funcs(template.FuncMap{
	"clean":  clean,
	"scalar": scalar,
	"list":   list,
	"rule":   func(r string) string { return "'" + strings.ReplaceAll(r, "'", "''") + "'" },
	"span":   span,
	"usual":  func(key string) string { return plan.Default("unbounded."+key) + " (the default)" },
}).Parse(source))

// render fills in a template, in which a tab before a comment stands for its column.
func render(name string, facts any) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	if err := errors.Join(drafts.ExecuteTemplate(w, name, facts), w.Flush()); err != nil {
		panic(err) // a template of ours, tested
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

// outside matches what the name of a plan may not hold.
var outside = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// label returns at most so many characters from the end of a text, as a part of a plan's name.
func label(text string, most int, fallback string) string {
	const ends = "-._"
	text = strings.Trim(outside.ReplaceAllString(text, "-"), ends)
	text = strings.Trim(text[max(len(text)-most, 0):], ends)
	return cmp.Or(text, fallback)
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

// bare matches the texts that YAML takes for what they are; of the words that mean something else
// none does.
var bare = regexp.MustCompile(`^[A-Za-z./][A-Za-z0-9._/~+=:-]*[A-Za-z0-9_/]$`)

// scalar writes a text as a YAML value. Go's quotes use only escapes that YAML reads the same way.
func scalar(text string) string {
	if bare.MatchString(text) && !slices.Contains([]string{"null", "true", "false"}, strings.ToLower(text)) {
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
