// Package interview makes a plan out of a person's answers to five questions. It asks no server,
// and starts nothing.
package interview

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"plimsoll/cmd/internal/ask"
	"plimsoll/cmd/internal/noplan"
	"plimsoll/plan"
	"plimsoll/plan/draft"
)

// answers are the words for the questions.
var answers = map[string]draft.Question{
	"hold":     draft.Hold,
	"capacity": draft.Supported,
	"compare":  draft.Changed,
}

// Ask asks the questions, and completes the facts of a plan: of its file, its behaviors, and the
// driver of a release.
func Ask(ctx context.Context, who *ask.Person, f draft.Facts) (draft.Facts, error) {
	what, err := who.Line(
		ctx,
		"1/5 the URL of a server, or the directory of a release",
		"http://127.0.0.1:8065",
		tested,
	)
	if err != nil {
		return f, err
	}
	if f.URL = noplan.URL(what); f.URL == "" {
		f.Release = what
	}
	word, err := who.Line(
		ctx,
		"2/5 hold so many users, capacity (how many?), or compare with another one",
		"hold",
		oneOf("hold", "capacity", "compare"),
	)
	if err != nil {
		return f, err
	}
	f.Question = answers[word]
	if f.Question == draft.Changed {
		other, err := who.Line(ctx, "    compared with which", what, alike(f.URL != ""))
		if err != nil {
			return f, err
		}
		if f.Other = noplan.URL(other); f.Other == "" {
			f.Other = other
		}
	}
	if f.Release != "" {
		engine, err := who.Line(
			ctx,
			"3/5 the database: postgresql, mysql or both",
			plan.PostgreSQL,
			oneOf(plan.PostgreSQL, plan.MySQL, "both"),
		)
		if err != nil {
			return f, err
		}
		if f.Engines = []string{engine}; engine == "both" {
			f.Engines = []string{plan.PostgreSQL, plan.MySQL}
		}
	}
	return f, numbers(ctx, who, &f)
}

// numbers asks for the users and the time.
func numbers(ctx context.Context, who *ask.Person, f *draft.Facts) error {
	// A search has room for ten times the users.
	users, err := who.Line(
		ctx,
		"4/5 how many users, or auto",
		"auto",
		number(true, plan.MaxUsers/10),
	)
	if err != nil {
		return err
	}
	if users != "auto" {
		f.Users, _ = strconv.Atoi(users)
	}
	usual, _ := f.Question.Length()
	minutes, err := who.Line(
		ctx,
		"5/5 how many minutes",
		fmt.Sprint(int(usual/time.Minute)),
		number(false, int(plan.MaxTime/time.Minute)),
	)
	if err != nil {
		return err
	}
	n, _ := strconv.Atoi(minutes)
	f.Length = time.Duration(n) * time.Minute
	return nil
}

// tested accepts an address or a directory.
func tested(answer string) error {
	if at := noplan.URL(answer); at != "" {
		return plan.CheckServer(at)
	}
	if strings.ContainsFunc(answer, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return errors.New("want the name of a directory without control characters")
	}
	info, err := os.Stat(filepath.Clean(answer))
	if err != nil {
		return noplan.Hint(answer, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no directory; want that of a release, such as ./releases/5.37",
			answer)
	}
	return nil
}

// alike accepts names that can be compared with a URL, or with a directory.
func alike(url bool) func(string) error {
	return func(answer string) error {
		if url != (noplan.URL(answer) != "") {
			return errors.New("want two URLs, or two directories")
		}
		return tested(answer)
	}
}

func oneOf(words ...string) func(string) error {
	return func(answer string) error {
		if !slices.Contains(words, answer) {
			return fmt.Errorf("%q: want %s", answer, strings.Join(words, ", "))
		}
		return nil
	}
}

// number accepts a whole number from 1 to most.
func number(auto bool, most int) func(string) error {
	return func(answer string) error {
		if n, err := strconv.Atoi(answer); !(auto && answer == "auto") &&
			(err != nil || n < 1 || n > most) {
			return fmt.Errorf("%q: want a whole number from 1 to %d", answer, most)
		}
		return nil
	}
}
