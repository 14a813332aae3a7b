package suspects

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"plimsoll/judge/attribution"
	"plimsoll/judge/attribution/names"
)

// The weight of a commit that touches a function around the one that changed, as a part of that
// function's share: the choice of a person, not an estimate.
const (
	ofCallee = 0.7
	ofCaller = 0.5
)

// A mark is something that a commit may touch, with its share of the difference and the reason.
type mark struct {
	share   float64
	reason  string
	touched func(Commit) float64 // 0 to 1
}

type ranking struct{ marks []mark }

// functions adds the functions of the findings that have a share of the difference.
func (r *ranking) functions(of attribution.Attribution) {
	for i, f := range of.Findings {
		share := shareOf(of, i)
		if share <= 0 {
			continue
		}
		name, part := short(f.Function.Name), fmt.Sprintf("%.0f %% of the difference", 100*share)
		changes := func(g attribution.Function, as string, weight float64) {
			r.marks = append(r.marks, mark{
				share:  share * weight,
				reason: "changes " + short(g.Name) + as,
				touched: func(c Commit) float64 {
					if slices.ContainsFunc(c.Hunks, func(h Hunk) bool { return h.touches(g) }) {
						return 1
					}
					return 0
				},
			})
		}
		changes(f.Function, ", which is "+part, 1)
		if f.From != nil {
			changes(*f.From, ", which became "+name+", "+part, 1)
		}
		for _, g := range f.Within {
			changes(g, ", called by "+name+", which is "+part, ofCallee)
		}
		for _, g := range f.Callers {
			changes(g, ", which calls "+name+", "+part, ofCaller)
		}
	}
}

// shareOf returns the share of a finding in the difference.
func shareOf(of attribution.Attribution, finding int) float64 {
	for _, p := range of.Parts {
		if p.Kind == attribution.PartFunction && p.Finding == finding {
			return min(p.Share, 1)
		}
	}
	return 0
}

// statements adds those of which commits change the text. A statement belongs to the commits that
// change most of its words.
func (r *ranking) statements(all []SuspectStatement, commits []Commit) {
	if len(all) == 0 {
		return // the words of all commits are for statements alone
	}
	places := make([]map[[2]string]place, len(commits))
	for i, c := range commits {
		places[i] = c.places()
	}
	for _, s := range all {
		words := wordsOf(s.Text)
		if len(words) < leastWords || s.Share <= 0 {
			continue
		}
		shares, most := map[string]float64{}, 0.0 // by commit
		for i, c := range commits {
			shares[c.ID] = s.shares(places[i], words)
			most = max(most, shares[c.ID])
		}
		r.marks = append(r.marks, mark{
			share:  min(s.Share, 1),
			reason: s.reason(),
			touched: func(c Commit) float64 {
				if x := shares[c.ID]; x >= max(leastShare, most-lessShare) {
					return x
				}
				return 0
			},
		})
	}
}

// reason is the reason of a commit that changes a statement.
func (s SuspectStatement) reason() string {
	whole := "of the difference in execution time"
	if s.Unclear {
		whole = "of the execution time that changed, up and down"
	}
	return fmt.Sprintf("changes the text of %q, %.0f %% %s", clip(s.Text), 100*min(s.Share, 1), whole)
}

// rank returns the commits that touch a mark.
func (r *ranking) rank(commits []Commit) []SuspectCommit {
	type one struct {
		SuspectCommit
		hunks int
	}
	var found []one
	for _, c := range commits {
		s := one{SuspectCommit{Commit: c.ID, Title: c.Title}, len(c.Hunks)}
		best, others := 0.0, 0
		for _, m := range r.marks {
			weight := m.share * m.touched(c)
			if weight <= 0 {
				continue
			}
			if s.Reason != "" {
				others++
			}
			if weight > best {
				best, s.Reason = weight, m.reason
			}
			s.Weight += weight
		}
		if s.Reason == "" {
			continue
		}
		switch {
		case others == 1:
			s.Reason += ", and 1 more that changed or lies around it"
		case others > 1:
			s.Reason += fmt.Sprintf(", and %d more that changed or lie around it", others)
		}
		s.Weight = min(s.Weight, 1)
		found = append(found, s)
	}
	// Of two that touch as much, the one that changes less is the more likely.
	slices.SortStableFunc(found, func(a, b one) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.hunks, b.hunks))
	})
	var out []SuspectCommit
	for _, s := range found[:min(len(found), Most)] {
		out = append(out, s.SuspectCommit)
	}
	return out
}

// touches reports whether a hunk changes a function: a line within it, or its declaration.
func (h Hunk) touches(f attribution.Function) bool {
	if !samePackage(h.File, f.File) {
		return false
	}
	is := declarationOf(f.Name)
	lines := slices.Concat(h.Removed, h.Added)
	if slices.ContainsFunc(lines, is) {
		return true
	}
	return is(h.Context) && !beginsDeclaration(lines)
}

// samePackage reports whether a file of the repository lies in the directory of a function's
// source, by its last element, since the two have other roots. A function without a source lies in
// any.
func samePackage(file, source string) bool {
	if source == "" {
		return true
	}
	dir := path.Dir(file)
	return path.Ext(file) == path.Ext(source) &&
		(dir == "." || path.Base(dir) == path.Base(path.Dir(source)))
}

var (
	// goRE is the declaration of a function in Go: its receiver's type, and its name.
	goRE = regexp.MustCompile(`^func\s*(?:\(\s*(?:\w+\s+)?\*?(\w+)[^)]*\)\s*)?(\w+)`)
	// closureRE is what the compiler adds to the name of a function for the closures in it.
	closureRE = regexp.MustCompile(`(?:\.(?:func|gowrap|deferwrap)?\d+|-range\d+|-fm)+$`)
	// topRE begins a declaration of any language with braces, or a comment before one.
	topRE = regexp.MustCompile(`^(?:func|type|var|const|//|/\*|[A-Za-z_]\w*[^=;]*\()`)
)

// declarationOf returns a function that reports whether a line declares the function of a name: by
// receiver and name in Go, in other languages by its name before a parenthesis.
func declarationOf(name string) func(line string) bool {
	receiver, method, isGo := split(name)
	if !isGo {
		re := regexp.MustCompile(`^\S.*\b` + regexp.QuoteMeta(method) + `\s*\(|^` +
			regexp.QuoteMeta(method) + `\s*\(`)
		return re.MatchString
	}
	return func(line string) bool {
		m := goRE.FindStringSubmatch(line)
		return m != nil && m[1] == receiver && m[2] == method
	}
}

// split returns the receiver's type and the name of a function, of a closure those of the function
// that it is in. A name without a package is not of Go.
func split(name string) (receiver, method string, isGo bool) {
	_, rest, isGo := strings.Cut(short(name), ".")
	if !isGo {
		return "", name, false
	}
	rest = closureRE.ReplaceAllString(rest, "")
	if of, m, ok := strings.Cut(rest, "."); ok {
		return strings.Trim(of, "(*)"), m, true
	}
	return "", rest, true
}

// short returns a name with the last element of its package's path, without type arguments.
func short(name string) string {
	name = strings.ReplaceAll(names.WithoutArguments(name), "[...]", "")
	return name[strings.LastIndexByte(name, '/')+1:]
}

// beginsDeclaration reports whether changed lines begin with a new declaration, which then lies
// behind the function before the hunk, and not in it.
func beginsDeclaration(lines []string) bool {
	for _, line := range lines {
		if strings.TrimSpace(line) != "" && line != "}" {
			return topRE.MatchString(line)
		}
	}
	return false
}

// clip returns the beginning of a statement on one line.
func clip(text string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > mostText {
		return string(runes[:mostText]) + "..."
	}
	return string(runes)
}

// mostText is the longest quotation of a statement, in characters.
const mostText = 60
