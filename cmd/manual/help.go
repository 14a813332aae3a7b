package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// A manual is all that the help of a program tells.
type manual struct {
	version, date   string
	about, statuses string // paragraphs
	verbs           []verb
}

// A verb is a verb of the program, or an action of one that has separate flags.
type verb struct {
	name, usage, short string
	words              []string // arguments that are the same for everybody, such as last
	flags              []option
	actions            []verb
}

// An option is a flag. One without a value is a switch.
type option struct{ name, value, text string }

var (
	verbLine = regexp.MustCompile(`^  ([a-z]\S*) +\S`)
	flagLine = regexp.MustCompile(`^  -(\S+)(?: ([^\t]*))?(?:\t(.*))?$`)
	flagged  = regexp.MustCompile(`\[-[^]]*\]`)
	word     = regexp.MustCompile(`^[a-z]+$`)
)

// read asks a program for its help.
func read(ctx context.Context, program string) (*manual, error) {
	ask := func(args ...string) (string, error) {
		out, err := exec.CommandContext(ctx, program, args...).Output()
		if err != nil {
			return "", fmt.Errorf("%s %s: %w", program, strings.Join(args, " "), err)
		}
		return string(out), nil
	}
	m := new(manual)
	text, err := ask("version", "-json")
	if err != nil {
		return nil, err
	}
	var of struct{ Version, Date string }
	if err := json.Unmarshal([]byte(text), &of); err != nil {
		return nil, fmt.Errorf("%s version -json: %w", program, err)
	}
	m.version = of.Version
	m.date, _, _ = strings.Cut(of.Date, "T")
	if text, err = ask("help"); err != nil {
		return nil, err
	}
	m.about, _, _ = strings.Cut(text, "\n\n")
	_, m.statuses, _ = strings.Cut(text, "\nexit status: ")
	for line := range strings.Lines(text) {
		found := verbLine.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		name := found[1]
		help, err := ask(name, "-h")
		if err != nil {
			return nil, err
		}
		v := parse(name, help)
		v.short = cmp.Or(v.short, listed(text, name))
		for _, action := range v.words {
			if help, err = ask(name, action, "-h"); err != nil {
				return nil, err
			}
			if a := parse(action, help); !slices.Equal(a.flags, v.flags) {
				v.actions = append(v.actions, a)
			}
		}
		m.verbs = append(m.verbs, v)
	}
	if len(m.verbs) == 0 {
		return nil, errors.New("its help lists no verbs")
	}
	return m, nil
}

// listed returns the text beside a name in the list of the verbs.
func listed(help, name string) string {
	var text []string
	for line := range strings.Lines(help) {
		found := verbLine.FindStringSubmatch(line)
		switch {
		case found != nil && found[1] == name:
			text = append(text, strings.Fields(line)[1:]...)
		case len(text) > 0 && (found != nil || strings.TrimSpace(line) == ""):
			return strings.Join(text, " ")
		case len(text) > 0:
			text = append(text, strings.Fields(line)...)
		}
	}
	return strings.Join(text, " ")
}

// parse reads the help of one verb: usage, an empty line, a sentence, an empty line, and flags as
// package flag prints them. The servers that plimsoll brings with it have the flags alone.
func parse(name, help string) verb {
	v := verb{name: name}
	head, flags, _ := strings.Cut("\n"+help, "\n  -")
	parts := strings.Split(strings.TrimSpace(head), "\n\n")
	if usage, ok := strings.CutPrefix(parts[0], "usage: "); ok {
		v.usage = flat(usage)
		if len(parts) > 1 {
			v.short = flat(parts[1])
		}
	}
	v.usage = cmp.Or(v.usage, "plimsoll "+name+" [flags]")
	_, args, _ := strings.Cut(v.usage, "[flags]")
	for _, w := range strings.FieldsFunc(flagged.ReplaceAllString(args, ""), func(r rune) bool {
		return r == ' ' || r == '|'
	}) {
		if word.MatchString(w) && !slices.Contains(v.words, w) {
			v.words = append(v.words, w)
		}
	}
	if flags == "" {
		return v
	}
	for line := range strings.Lines("  -" + flags) {
		line = strings.TrimSuffix(line, "\n")
		if found := flagLine.FindStringSubmatch(line); found != nil {
			v.flags = append(v.flags, option{found[1], found[2], found[3]})
			continue
		}
		last := &v.flags[len(v.flags)-1]
		last.text = strings.TrimSpace(last.text + " " + strings.TrimSpace(line))
	}
	return v
}

// flat returns a paragraph as one line.
func flat(text string) string { return strings.Join(strings.Fields(text), " ") }
