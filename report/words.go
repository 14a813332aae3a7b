package report

import (
	"cmp"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"plimsoll/internal/plain"
	"plimsoll/judge/attribution/names"
	"plimsoll/judge/verdict"
	"plimsoll/plan"
)

// sentence returns a text with its first letter in upper case.
func sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError {
		return s
	}
	return string(unicode.ToUpper(r)) + s[n:]
}

// slug keeps letters, digits and dashes of a name, in lower case, for a file name or an anchor.
func slug(s string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(s) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= 60 {
			break
		}
	}
	return cmp.Or(strings.TrimSuffix(b.String(), "-"), "x")
}

func prefix(s string) string {
	if s == "" {
		return ""
	}
	return s + ": "
}

func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// kindText is a conclusion as tables show it.
func kindText(k verdict.Kind, indicative bool) string {
	if indicative && k == verdict.Inconclusive {
		return "indicative"
	}
	return string(k)
}

// versionRE matches the element of an import path that is a major version.
var versionRE = regexp.MustCompile(`^v[0-9]+\.`)

// shortFunction returns the name of a function without the path of its package and without the
// types of a generic instance: "sqlstore.(*PostStore).Save". Names of other languages than Go are
// shortened to the arguments that they begin with.
func shortFunction(name string) string {
	name = names.WithoutArguments(name)
	name = strings.ReplaceAll(name, "%2e", ".")
	head, rest, _ := strings.Cut(name, "(") // a path in a receiver's type is not the package's
	path := strings.Split(head, "/")
	last := path[len(path)-1]
	if n := len(path); n > 1 && versionRE.MatchString(last) {
		_, symbol, _ := strings.Cut(last, ".")
		last = path[n-2] + "." + symbol
	}
	if rest != "" || strings.HasSuffix(name, "(") {
		last += "(" + rest
	}
	return last
}

func esc(s string) string { return html.EscapeString(plain.OneLine(s)) }

// dash stands for an unknown value.
const dash = "–"

// count writes a number of things: "1 block was", "3 blocks were".
func count(n int, one, many string) string {
	return strconv.Itoa(n) + " " + verb(n, one, many)
}

// list joins names as verdicts do.
func list(names []string) string { return verdict.List(names) }

// short cuts a text to n signs.
func short(s string, n int) string {
	r := []rune(strings.TrimRight(s, " "))
	if len(r) <= n {
		return string(r)
	}
	return string(r[:n-1]) + "…"
}

func dashLabel(label string) string {
	if label == "" {
		return ""
	}
	return " - " + label
}

// aboutTime writes how long something takes, to two digits.
func aboutTime(d time.Duration) string {
	switch {
	case d >= 10*time.Minute:
		return plan.FormatDuration(d.Round(time.Minute))
	case d >= time.Minute:
		return plan.FormatDuration(d.Round(10 * time.Second))
	}
	return plan.FormatDuration(d.Round(time.Second))
}

// prose is sentences.
type prose []string

func (p *prose) add(format string, a ...any) { p.say(fmt.Sprintf(format, a...)) }

func (p *prose) say(sentences ...string) { *p = append(*p, sentences...) }

// oneOf returns the element of a list that fits, or a new one at its end.
func oneOf[T any](all *[]T, fits func(T) bool, fresh T) *T {
	i := slices.IndexFunc(*all, fits)
	if i < 0 {
		i = len(*all)
		*all = append(*all, fresh)
	}
	return &(*all)[i]
}

// textsOf writes each of a list.
func textsOf[T any](all []T, text func(T) string) []string {
	out := make([]string, len(all))
	for i, x := range all {
		out[i] = text(x)
	}
	return out
}

// test names a row of an engine; a target whose database is not ours has no name for it.
func test(label string) string {
	return cmp.Or(label, "target")
}

func orDash(s string) string {
	return cmp.Or(s, dash)
}

// yes is the cell of a column of yes and no.
func yes(v bool) string {
	if v {
		return "yes"
	}
	return "no"
}

// byReason are names by the reason that they share, in the order in which the reasons came.
type byReason struct {
	reasons []string
	names   map[string][]string
}

func (b *byReason) add(reason, name string) {
	if b.names == nil {
		b.names = map[string][]string{}
	}
	if b.names[reason] == nil {
		b.reasons = append(b.reasons, reason)
	}
	b.names[reason] = append(b.names[reason], name)
}

// texts writes names and reason into a format, a text for each reason.
func (b *byReason) texts(format string) []string {
	return textsOf(b.reasons, func(reason string) string {
		return fmt.Sprintf(format, list(b.names[reason]), reason)
	})
}
