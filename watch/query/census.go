package query

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Own names the statements of this program's own probes, in a comment of [Operation].
const Own = "plimsoll"

// A Census is the statements of a database over some time, with the stored form statements.json.
type Census struct {
	Format int    `json:"format"`
	Server string `json:"server,omitempty"` // name and version
	// Seconds is the time between the two readings of the counters, by the run's clock.
	Seconds float64 `json:"seconds"`
	// Statements are those with most time, the longest first. Others is the sum of the rest, which
	// are Omitted in number.
	Statements []Statement `json:"statements"`
	Others     Figures     `json:"others"`
	Omitted    int         `json:"omitted"`
	// Missing is the code of why there are no statements, and Remedy the line that would change
	// it. Both are empty if there are some.
	Missing Missing `json:"missing,omitempty"`
	Remedy  string  `json:"remedy,omitempty"`
	// Unplanned is the code of why no statement has a plan; empty if one has.
	Unplanned Missing `json:"unplanned,omitempty"`
}

// Missing is a code for what a server does not tell.
type Missing string

// The codes.
const (
	Off        Missing = "off"         // the server does not count statements
	Refused    Missing = "refused"     // the user may not read them
	Reset      Missing = "reset"       // the counters began anew between the readings
	Shared     Missing = "shared"      // the arms of a duet take turns, and the database is not paused
	Unanswered Missing = "unanswered"  // no answer in time, or the connection broke
	NoSamples  Missing = "no samples"  // the server keeps no statement with its constants
	NoDatabase Missing = "no database" // none is known to this program
)

// A MissingError is the reason why a server does not tell something.
type MissingError struct {
	Why    Missing
	Remedy string // the line to enable it, or empty
}

func (e *MissingError) Error() string { return "statements: " + string(e.Why) }

// Untold returns err as the reason why a server does not tell its statements: it refuses what the
// remedy grants, or does not answer. plain makes an error that may be shown.
func Untold(err error, plain func(error) error, refused bool, remedy string) error {
	var known *MissingError
	if err == nil || errors.As(err, &known) {
		return err
	}
	out := &MissingError{Why: Unanswered}
	if refused {
		out = &MissingError{Why: Refused, Remedy: remedy}
	}
	return fmt.Errorf("%w: %w", out, plain(err))
}

// A Counted is a statement as a server has it.
type Counted struct {
	Text  string // with constants or without
	MySQL bool   // the server is one of MySQL's family, whose texts have other quotes
	Figures
}

// Growth returns how much each of some counters has grown since an earlier reading. Those that have
// not grown are left out.
func Growth[K comparable](before, now map[K]Figures) map[K]Figures {
	out := map[K]Figures{}
	for k, f := range now {
		if f = f.Since(before[k]); f.Calls > 0 {
			out[k] = f
		}
	}
	return out
}

// Longest returns the keys of the figures with most time, at most n, the longest first.
func Longest[K cmp.Ordered](of map[K]Figures, n int) []K {
	keys := slices.SortedFunc(maps.Keys(of), func(a, b K) int {
		return cmp.Or(cmp.Compare(of[b].Seconds, of[a].Seconds), cmp.Compare(a, b))
	})
	return keys[:min(n, len(keys))]
}

// Count returns the statements of some figures with their texts.
func Count(of map[string]Figures, texts map[string]string, mySQL bool) (out []Counted) {
	for id, f := range of {
		out = append(out, Counted{Text: texts[id], MySQL: mySQL, Figures: f})
	}
	return out
}

// Gather sums counted statements by their normalized texts, and keeps the most with most time. Those
// without a readable text are among the others, and those of this program's probes are left out.
// source returns a text as the server has it, of a statement that was kept.
func Gather(counted []Counted, most int) (r Census, source map[string]string) {
	sums := map[string]*Statement{}
	longest := map[string]float64{} // time of the text that is the source
	source = map[string]string{}
	for _, c := range counted {
		operation := Operation(c.Text)
		if operation == Own {
			continue
		}
		text := normalize(c.Text, c.MySQL)
		if text == "" {
			r.Others.Add(c.Figures)
			r.Omitted++
			continue
		}
		if sums[text] == nil {
			sums[text] = &Statement{Text: text}
		}
		sums[text].Add(c.Figures)
		if c.Seconds >= longest[text] {
			longest[text] = c.Seconds
			source[text] = c.Text
			sums[text].Operation = operation
		}
	}
	all := slices.SortedFunc(maps.Values(sums), func(a, b *Statement) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Text, b.Text))
	})
	r.Statements = []Statement{}
	for i, s := range all {
		if i >= most {
			r.Others.Add(s.Figures)
			r.Omitted++
			delete(source, s.Text)
			continue
		}
		r.Statements = append(r.Statements, *s)
	}
	return r, source
}
