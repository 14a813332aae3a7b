package plan

import (
	"strings"
	"testing"

	"plimsoll/internal/failure"
)

func TestSource(t *testing.T) {
	const text = "name: a\ntarget: {driver: external, url: \"http://localhost:1\"}\nworkload: {behavior: poster}\n" +
		"bounded: {users: 5}\ncompare: {arms: {base: {}, new: {}}}\n"
	const given = "source: {repo: ../server, base: v1, new: v2}\n"
	p, err := Parse([]byte(text + given))
	if err != nil || p.Source == nil || *p.Source != (SourceRange{"../server", "v1", "v2"}) {
		t.Fatalf("%+v, %v", p, err)
	}
	again, err := Parse([]byte(p.String()))
	if err != nil || *again.Source != *p.Source || again.Digest() != p.Digest() {
		t.Errorf("%v in\n%s", err, p)
	}
	without, _, _ := strings.Cut(text, "compare:")
	for in, want := range map[string]string{
		text + "source: {repo: ., base: v1}\n": "write the revision of the new arm",
		without + given:                        "only a comparison has two revisions",
	} {
		failure.Says(t, failure.Of(Parse([]byte(in))), want)
	}
	if p, err := Parse([]byte(text)); err != nil || p.Source != nil || strings.Contains(p.String(), "source") {
		t.Errorf("%v\n%s", err, p)
	}
}
