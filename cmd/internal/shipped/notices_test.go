package shipped

import (
	"cmp"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/failure"
)

var update = flag.Bool("update", false, "write notices.txt anew")

// TestNoticesGolden makes the notices from the licenses of the modules in the program, for every
// system and processor that it is built for.
func TestNoticesGolden(t *testing.T) {
	all := slices.Concat(
		parts(t, "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64"),
		parts(t, "CGO_ENABLED=0", "GOOS=linux", "GOARCH=arm64"),
		parts(t, "CGO_ENABLED=0", "GOOS=darwin", "GOARCH=arm64"),
	)
	got, err := notices(all)
	failure.None(t, err)
	if *update {
		failure.None(t, os.WriteFile("notices.txt", []byte(got), 0o666))
		return
	}
	if got == Notices {
		return
	}
	have, want := strings.Split(Notices, "\n"), strings.Split(got, "\n")
	i := 0
	for i < len(have) && i < len(want) && have[i] == want[i] {
		i++
	}
	t.Errorf(
		"notices.txt is not that of the modules in the program (make notices writes it); line %d is %q, want %q",
		i+1,
		at(have, i),
		at(want, i),
	)
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "nothing"
}

// A source is one module in the program: the directories of its packages, and its texts by path
// within it.
type source struct {
	name, version, dir string
	below              map[string]bool
	texts              map[string]string
	kinds              []string
}

// licenseName matches the names of files with the terms of redistribution.
var licenseName = regexp.MustCompile(
	`(?i)^(un)?(licen[cs]e|copying|copyright|notice)([-_.].*)?$|-licen[cs]e(\.(txt|md))?$`,
)

// licenseDirs are directories of further licenses in the root of a module.
var licenseDirs = []string{"THIRD_PARTY_LICENSES", "LICENSES", "licenses"}

// chosen are the files of modules that leave a choice between licenses.
var chosen = map[string][]string{"github.com/golang/freetype": {"LICENSE", "licenses/ftl.txt"}}

// notices returns the text of all that must go with the packages.
func notices(all []part) (string, error) {
	modules := map[string]*source{}
	for i := range all {
		p := &all[i]
		if p.Standard || p.Module == nil || p.Module.Path == "plimsoll" || p.absent() {
			continue
		}
		m := modules[p.Module.Path]
		if m == nil {
			m = &source{
				name:    p.Module.Path,
				version: p.Module.Version,
				dir:     p.Module.Dir,
				below:   map[string]bool{".": true},
				texts:   map[string]string{},
			}
			modules[m.name] = m
		}
		rel, err := filepath.Rel(m.dir, p.Dir)
		if err != nil {
			return "", err
		}
		for d := filepath.ToSlash(rel); d != "."; d = path.Dir(d) {
			m.below[d] = true
		}
	}
	sorted := slices.SortedFunc(maps.Values(modules), func(a, b *source) int {
		return cmp.Compare(a.name, b.name)
	})
	for _, m := range sorted {
		if err := m.read(); err != nil {
			return "", fmt.Errorf("%s %s: %w", m.name, m.version, err)
		}
	}
	return render(sorted), nil
}

// read takes in the texts that lie beside a package or above it.
func (m *source) read() error {
	fsys := os.DirFS(m.dir)
	for _, d := range append(slices.Sorted(maps.Keys(m.below)), licenseDirs...) {
		entries, err := fs.ReadDir(fsys, d)
		if err != nil && !slices.Contains(licenseDirs, d) {
			return err
		}
		for _, e := range entries {
			name := path.Join(d, e.Name())
			only, choice := chosen[m.name]
			switch {
			case !e.Type().IsRegular(), choice && !slices.Contains(only, name):
				continue
			case !licenseName.MatchString(e.Name()) && !slices.Contains(licenseDirs, d),
				strings.HasSuffix(name, ".go"):
				continue
			}
			text, err := fs.ReadFile(fsys, name)
			if err != nil {
				return err
			}
			m.texts[name] = tidy(string(text))
			if kind := kindOf(m.texts[name]); kind != "" && !slices.Contains(m.kinds, kind) {
				m.kinds = append(m.kinds, kind)
			}
		}
	}
	slices.Sort(m.kinds)
	if len(m.kinds) == 0 {
		return fmt.Errorf(
			"none of its files %q is a license that the program may be passed on under; see kinds",
			slices.Sorted(maps.Keys(m.texts)),
		)
	}
	return nil
}

// tidy drops insignificant differences between texts: ends of lines, spaces before them, empty
// lines around.
func tidy(text string) string {
	lines := strings.Split(
		strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff"),
		"\n",
	)
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t\f")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// kinds are the licenses that the program may be passed on under, by words that only they have. The
// first that fits counts. The GPL and its relatives are none of them.
var kinds = []struct{ name, words string }{
	{"Apache-2.0", `^Apache License Version 2\.0|licensed under the Apache License, Version 2\.0`},
	{"MPL-2.0", `^Mozilla Public License,? Version 2\.0`},
	{"OFL-1.1", `SIL OPEN FONT LICENSE Version 1\.1`},
	{"FTL", `The FreeType Project LICENSE`},
	{"BSL-1.0", `^Boost Software License`},
	{"MIT", `Permission is hereby granted, free of charge, to any person obtaining a copy`},
	{
		"BSD-3-Clause",
		`Redistribution and use in source and binary forms, .*(Neither the name|may not be used to endorse|may be used to endorse)`,
	},
	{"BSD-2-Clause", `Redistribution and use in source and binary forms, `},
	{
		"CC-BY-4.0",
		`^(The contents of this repository are Licensed under the )?Creative Commons Attribution 4\.0`,
	},
	{
		"ISC",
		`Permission to use, copy, modify, (and/or|and) distribute this software for any purpose`,
	},
	{
		"public domain",
		`(have been|is|are) put (into|in) the public domain|This is free and unencumbered software released into the public domain`,
	},
}

var spaces = regexp.MustCompile(`\s+`)

func kindOf(text string) string {
	flat := strings.TrimSpace(spaces.ReplaceAllString(text, " "))
	for _, k := range kinds {
		if regexp.MustCompile(`(?i)` + k.words).MatchString(flat) {
			return k.name
		}
	}
	return ""
}

// goLicense is the file whose text equals the license of the standard library: both belong to the
// Go authors. A distribution of Go may keep its own copy elsewhere.
const goModule, goLicense = "golang.org/x/sys", "LICENSE"

func render(modules []*source) string {
	var b strings.Builder
	b.WriteString(
		"Plimsoll contains the work of others, which is passed on under the terms below: first the modules and the kinds of their\n" +
			"licenses, then each text once, under the files that have it.\n\n",
	)
	rows := [][3]string{{"Go standard library and runtime", "", "BSD-3-Clause"}}
	for _, m := range modules {
		rows = append(rows, [3]string{m.name, m.version, strings.Join(m.kinds, ", ")})
	}
	wide := [2]int{}
	for _, r := range rows {
		wide[0], wide[1] = max(wide[0], len(r[0])), max(wide[1], len(r[1]))
	}
	for _, r := range rows {
		fmt.Fprintf(&b, "%-*s  %-*s  %s\n", wide[0], r[0], wide[1], r[1], r[2])
	}
	holders := map[string][]string{}
	var texts []string
	for _, m := range modules {
		for _, name := range slices.Sorted(maps.Keys(m.texts)) {
			text := m.texts[name]
			if holders[text] == nil {
				texts = append(texts, text)
			}
			if m.name == goModule && name == goLicense {
				holders[text] = append(holders[text], "Go standard library and runtime")
			}
			holders[text] = append(holders[text], m.name+"/"+name)
		}
	}
	for _, text := range texts {
		fmt.Fprintf(
			&b,
			"\n%s\n%s\n%s\n%s\n",
			strings.Repeat("=", 80),
			strings.Join(holders[text], "\n"),
			strings.Repeat("-", 80),
			text,
		)
	}
	return b.String()
}

func TestKindsOfLicenses(t *testing.T) {
	for text, want := range map[string]string{
		"  Apache License\n   Version 2.0, January 2004\n":                                 "Apache-2.0",
		"Permission is hereby granted,\nfree of charge, to any person obtaining a copy of": "MIT",
		"Redistribution and use in source and\nbinary forms, with x. Neither the name of":  "BSD-3-Clause",
		"Redistribution and use in source and binary forms, with or without":               "BSD-2-Clause",
		"Mozilla Public License Version 2.0\n GNU General Public License":                  "MPL-2.0",
		"GNU GENERAL PUBLIC LICENSE\nVersion 2, June 1991":                                 "",
		"GNU AFFERO GENERAL PUBLIC LICENSE":                                                "",
		"All rights reserved.":                                                             "",
	} {
		if got := kindOf(tidy(text)); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
