package plan

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"plimsoll/internal/failure"
)

// current compares a generated file with what it should be, or writes it anew.
func current(t *testing.T, file, want string) {
	t.Helper()
	if flag.Lookup("update").Value.String() == "true" {
		failure.None(t, os.WriteFile(file, []byte(want), 0o644))
	}
	got, err := os.ReadFile(file)
	failure.None(t, err)
	if string(got) != want {
		t.Errorf("%s is not what the tables of keys say; run go test ./plan -update", file)
	}
}

// below returns the keys of a section, or of the entries of a list or mapping.
func (k key) below() section {
	if k.section != nil || k.each == nil {
		return k.section
	}
	return k.each.section
}

// values describes the accepted values of a key.
func (k key) values() string {
	text := k.want
	switch {
	case k.words != nil:
		text = "`" + strings.Join(k.words, "`, `") + "`"
	case k.section != nil && text == "":
		text = "a section"
	}
	if k.least != nil {
		text += fmt.Sprintf(", %v to %v", k.least, k.most)
		text = strings.ReplaceAll(text, "h0m0s", "h")
	}
	return text
}

// reference writes a table of a section, and one of each section in it.
func reference(b *strings.Builder, path string, s section) {
	b.WriteString("| key | values | default | text |\n|---|---|---|---|\n")
	for _, k := range s.keys() {
		usual := ""
		switch {
		case k.required:
			usual = "required"
		case k.usual != nil:
			usual = fmt.Sprintf("`%v`", k.usual)
		}
		text := strings.NewReplacer("|", "\\|", "<", "&lt;").Replace(k.plainText())
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", k.name, k.values(), usual, text)
	}
	for _, k := range s.keys() {
		at := join(path, k.name)
		below := k.below()
		if k.section == nil {
			at += ".*"
		}
		if below != nil {
			fmt.Fprintf(b, "\n## `%s`\n\n", at)
			reference(b, at, below)
		}
	}
}

// TestReferenceGolden keeps docs/plan.md, and the schema.
func TestReferenceGolden(t *testing.T) {
	current(t, "testdata/schema.json", string(Schema()))
	const page, from, to = "../docs/plan.md", "<!-- keys -->\n", "<!-- end -->\n"
	src, err := os.ReadFile(page)
	failure.None(t, err)
	head, rest, _ := strings.Cut(string(src), from)
	_, tail, ok := strings.Cut(rest, to)
	if !ok {
		t.Fatalf("%s has no marks for the tables", page)
	}
	var b strings.Builder
	reference(&b, "", planKeys)
	current(t, page, head+from+b.String()+to+tail)
}
