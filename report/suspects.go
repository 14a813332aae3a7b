package report

import (
	"fmt"
	"math"
	"strings"

	"plimsoll/judge/attribution"
	"plimsoll/judge/attribution/statements"
	"plimsoll/judge/suspects"
)

// suspectLine is the sentence on the first suspect, without a period; empty if there is none.
func suspectLine(s *suspects.SuspectSearch) string {
	if s == nil || len(s.Suspects) == 0 {
		return ""
	}
	first := s.Suspects[0]
	return fmt.Sprintf("suspect: %s %q %s", shortCommit(first.Commit), first.Title, first.Reason)
}

// shortCommit is the name of a commit in a text.
func shortCommit(id string) string { return id[:min(len(id), 12)] }

// suspectSections are the commits that touch what changed.
func (d Document) suspectSections() []section {
	s := d.Suspects
	if s == nil {
		return nil
	}
	out := section{Level: 3, Title: "Commits that touch it"}
	if s.Withheld != "" {
		out.Items.say(s.Withheld)
	}
	switch {
	case len(s.Suspects) == 0 && s.Withheld != "":
		return []section{out}
	case len(s.Suspects) == 0:
		out.Items.say(fmt.Sprintf("None of the %d commits from %s to %s touches what "+
			"changed.", s.Commits, s.Base, s.New))
		return []section{out}
	}
	out.Table = newTable("Commit", "Title", "It")
	for _, x := range s.Suspects {
		out.Table.add(shortCommit(x.Commit), x.Title, strings.TrimSpace(x.Reason))
	}
	out.Notes = prose{fmt.Sprintf("Of %d commits from %s to %s. A commit may touch a function without "+
		"making it slower: `plimsoll bisect -good %s -bad %s` measures which one did.",
		s.Commits, s.Base, s.New, s.Base, s.New)}
	return []section{out}
}

// Changed returns what a search for suspects begins with: the first cost whose functions changed,
// which is the application's where it is one of several, and the statements that changed.
func (d Document) Changed() (of attribution.Attribution, all []suspects.SuspectStatement) {
	for _, w := range d.Why {
		if len(w.Findings) > 0 {
			of = w.Attribution
			break
		}
	}
	for _, s := range d.Statements {
		all = append(all, suspectStatements(s.Findings)...)
	}
	return of, all
}

// suspectStatements are the statements that changed on one engine, each with its share of the
// difference of all; where none has one, with its share of what changed, up and down.
func suspectStatements(changed []statements.ChangedStatement) (all []suspects.SuspectStatement) {
	sum := 0.0
	unclear := true
	for _, f := range changed {
		sum += math.Abs(f.Cost.Value)
		unclear = unclear && f.Share == 0
	}
	for _, f := range changed {
		s := suspects.SuspectStatement{
			Text:    f.Text,
			Share:   f.Share,
			Unclear: unclear,
			Added:   f.Kind == statements.Added,
			Removed: f.Kind == statements.Removed,
		}
		if unclear && sum > 0 {
			s.Share = math.Abs(f.Cost.Value) / sum
		}
		all = append(all, s)
	}
	return all
}
