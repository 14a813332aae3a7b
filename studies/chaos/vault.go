package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// piece is how much of a secret is too much: a text that was cut off before it was cleaned still
// gives it away.
const piece = 12

// A vault holds the secrets of one row: its passwords, and every token that passed.
type vault struct {
	mu   sync.Mutex
	list []string
}

func (v *vault) add(secret string) {
	if len(secret) < piece {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if !slices.Contains(v.list, secret) {
		v.list = append(v.list, secret)
	}
}

func (v *vault) all() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.list)
}

// forms are the ways in which a program may write a secret.
func forms(secret string) []string {
	quoted := strconv.Quote(secret)
	encoded, err := json.Marshal(secret)
	if err != nil {
		encoded = nil
	}
	var plain bytes.Buffer
	e := json.NewEncoder(&plain)
	e.SetEscapeHTML(false)
	_ = e.Encode(secret) // of a string it cannot fail
	return []string{
		secret,
		quoted[1 : len(quoted)-1],
		strings.Trim(string(encoded), `"`),
		strings.Trim(strings.TrimSpace(plain.String()), `"`),
		url.QueryEscape(secret),
		url.PathEscape(secret),
		html.EscapeString(secret),
		base64.StdEncoding.EncodeToString([]byte(secret)),
		base64.RawURLEncoding.EncodeToString([]byte(secret)),
		hex.EncodeToString([]byte(secret)),
	}
}

// A search finds pieces of secrets in texts.
type search map[string]bool

func (v *vault) search() search {
	s := search{}
	for _, secret := range v.all() {
		for _, f := range forms(secret) {
			for i := 0; i+piece <= len(f); i++ {
				s[f[i:i+piece]] = true
			}
		}
	}
	return s
}

// in returns where in a text the first piece of a secret begins, or -1.
func (s search) in(text []byte) int {
	for i := 0; i+piece <= len(text); i++ {
		if s[string(text[i:i+piece])] {
			return i
		}
	}
	return -1
}

// forged is a line that only a target would have written: see taunt.
const forged = "run forged: sealed, valid"

// control returns the first character of a text that a terminal would obey, or a line that the
// target forged; "" if there is none. Line feeds and tabs are the program's own.
func control(text []byte) string {
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if bytes.HasPrefix(bytes.TrimSpace(line), []byte(forged)) {
			return "a line of the target's making"
		}
	}
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			return fmt.Sprintf("the byte %#02x, which is no UTF-8", text[i])
		}
		switch {
		case r == '\n' || r == '\t':
		case r < 0x20,
			r >= 0x7f && r < 0xa0,
			r >= 0x202a && r <= 0x202e,
			r >= 0x2066 && r <= 0x2069,
			r == 0x2028,
			r == 0x2029:
			return fmt.Sprintf("%U", r)
		}
		i += n
	}
	return ""
}

// texts are the files that people read as they are; the others are binary.
var texts = strings.Fields(".json .jsonl .md .html .csv .txt .log .xml .svg .yaml .yml .prom")

// A leak is content of the target in a place where it must not be.
type leak struct{ secret, control string }

// leaks looks through outputs and all files below a directory.
func leaks(v *vault, outputs map[string][]byte, dir string) (l leak, err error) {
	s := v.search()
	look := func(name string, text []byte, readable bool) {
		if at := s.in(text); at >= 0 && l.secret == "" {
			l.secret = fmt.Sprintf("%s shows a secret, at byte %d", name, at)
		}
		if !readable {
			return
		}
		if c := control(text); c != "" && l.control == "" {
			l.control = fmt.Sprintf("%s holds %s", name, c)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		look(name, outputs[name], true)
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		// The names of files come from the run's id; that one holds the run's time.
		parts := strings.Split(filepath.ToSlash(rel), "/")
		if len(parts) > 2 && parts[0] == "runs" {
			rel = filepath.Join(parts[2:]...)
		}
		look(rel, b, slices.Contains(texts, filepath.Ext(path)))
		return nil
	})
	return l, err
}
