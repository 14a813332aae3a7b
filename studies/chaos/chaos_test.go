package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestChaos runs every row. A row that fails and is not in notMet is a defect; one that holds and
// is in it is to be taken out.
func TestChaos(t *testing.T) {
	// Not t.TempDir, into which only its owner may go: the database has a user of its own.
	dir, err := os.MkdirTemp("", "plimsoll-chaos-") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program := filepath.Join(dir, "plimsoll")
	if out, err := exec.Command(filepath.Join("..", "..", "scripts", "build.sh"), program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	feed := filepath.Join(dir, "plimsoll-newsfeed")
	if out, err := exec.Command("go", "build", "-C", filepath.Join("..", "..", "newsfeed"), "-o", feed, "./cmd/plimsoll").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := &suite{
		program:  program,
		feed:     feed,
		dir:      filepath.Join(dir, "rows"),
		parallel: defaultParallel,
		log:      t.Logf,
	}
	results, err := s.all(t.Context(), rows())
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range surprises(results, notMet) {
		t.Error(err)
	}
}

// TestEveryRowIsNamedOnceAndKnowsWhatIsRight also holds the table to its size: 80 rows at least,
// with each kind of fault in each phase where it can be.
func TestEveryRowIsNamedOnceAndKnowsWhatIsRight(t *testing.T) {
	all := rows()
	if len(all) < 80 {
		t.Errorf("%d rows, want 80 or more", len(all))
	}
	seen := map[string]bool{}
	phases := map[phase]int{}
	verbs := map[verb]int{}
	used := map[string]bool{}
	for _, r := range all {
		if seen[r.name()] {
			t.Errorf("%s is there twice", r.name())
		}
		seen[r.name()], used[r.mode.name] = true, true
		phases[r.phase]++
		verbs[r.verb]++
		if len(r.statuses) == 0 || r.mode.what == "" {
			t.Errorf("%s: no status or no description", r.name())
		}
	}
	for _, p := range []phase{ready, provision, lists, logins, ramp, measured, audit, scrape, verifySetup, verifyProofs} {
		if phases[p] < 5 {
			t.Errorf("%d rows of the phase %s, want 5 or more", phases[p], p)
		}
	}
	for _, v := range []verb{capacity, compare} {
		if verbs[v] < 5 {
			t.Errorf("%d rows of %s, want 5 or more", verbs[v], v)
		}
	}
	for _, m := range modes() {
		if !used[m.name] {
			t.Errorf("the mode %s is in no row", m.name)
		}
	}
	for name := range notMet {
		if !seen[name] {
			t.Errorf("notMet names %s, which is no row", name)
		}
	}
	for name := range right {
		if !used[name] {
			t.Errorf("what is right for %s is said, and no row has it", name)
		}
	}
}

// TestThePageHasEveryRow keeps the page of results as the code has it, except for measured values.
func TestThePageHasEveryRow(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "results", page))
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{}
	for line := range strings.SplitSeq(string(b), "\n") {
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | "); ok &&
			strings.Contains(name, "/") {
			lines[name] = line
		}
	}
	for _, r := range rows() {
		line, ok := lines[r.name()]
		delete(lines, r.name())
		if !ok {
			t.Errorf("%s lacks the row %s: make chaos", page, r.name())
			continue
		}
		want := "| " + r.name() + " | " + cell(r.mode.what) + " | " + r.classText() + " |"
		if !strings.HasPrefix(line, want) || !strings.Contains(line, " | "+r.statusText()+" | ") {
			t.Errorf(
				"%s has\n%s\nfor a row that begins\n%s and has status %s: make chaos",
				page,
				line,
				want,
				r.statusText(),
			)
		}
		_, known := notMet[r.name()]
		if known != strings.Contains(line, "NOT MET") {
			t.Errorf("%s and known.go do not agree on whether %s holds", page, r.name())
		}
	}
	for name := range lines {
		t.Errorf("%s has the row %s, which is none: make chaos", page, name)
	}
}

func TestARowThatFailsOrHoldsUnexpectedlyIsAnError(t *testing.T) {
	all := rows()
	results := []result{{row: all[0]}, {
		row:      all[1],
		problems: []string{"x"},
	}, {row: all[2], problems: []string{"x"}}, {row: all[3]}}
	errs := surprises(results, map[string]string{all[2].name(): "later", all[3].name(): "later"})
	if len(errs) != 2 || !strings.Contains(errs[0].Error(), all[1].name()) ||
		!strings.Contains(errs[1].Error(), all[3].name()+" holds now") {
		t.Errorf("got %v", errs)
	}
}

func TestASecretIsFoundInEveryFormAndInPart(t *testing.T) {
	v := &vault{}
	const secret = `Aa1!0123456789"<&>\Ärger`
	v.add(secret)
	v.add("short") // nothing that short is looked for
	s := v.search()
	for _, f := range forms(secret) {
		if s.in([]byte("before "+f+" after")) < 0 {
			t.Errorf("%s is not found", f)
		}
	}
	if s.in([]byte("... "+secret[:piece])) < 0 || s.in([]byte(secret[5:])) < 0 {
		t.Error("a piece is not found")
	}
	if at := s.in([]byte(secret[:piece-1] + " short [redacted]")); at >= 0 {
		t.Errorf("found at %d what is no secret", at)
	}
}

func TestControlCharactersAndForgedLinesAreFound(t *testing.T) {
	for _, bad := range []string{"\x1b[31m", "a\rb", "\x07", "\x7f", "\u009b31m", "a\u202eb", "\u2028", "\xff", "x\n  " + forged, "\x00"} {
		if control([]byte("text "+bad)) == "" {
			t.Errorf("%q passes", bad)
		}
	}
	if c := control([]byte("a\tb\nÄ ≥ 5 µs “" + forged + "”\n")); c != "" {
		t.Errorf("good text holds %s", c)
	}
}

func TestLeaksAreFoundInOutputsAndFiles(t *testing.T) {
	v := &vault{}
	v.add("0123456789abcdef")
	dir := t.TempDir()
	run := filepath.Join(dir, "runs", "20260101-000000-chaos-0000")
	if err := os.MkdirAll(run, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"windows.hdr":  "\x1b[31m",
		"events.jsonl": "{}\n",
		"index":        "..0123456789abcdef..",
	} {
		if err := os.WriteFile(filepath.Join(run, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := leaks(v, map[string][]byte{
		"stdout": []byte("fine\n"),
		"stderr": []byte("\x1b]0;x\x07"),
	}, dir)
	if err != nil || l.secret != "index shows a secret, at byte 2" ||
		l.control != "stderr holds U+001B" {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestTheSameSeedMutatesAlike(t *testing.T) {
	body := []byte(`{"id":"abc","list":[1,2,{"user_id":"x","at":1700000000000}],"ok":true}`)
	kinds := map[string]bool{}
	for seed := range uint64(200) {
		a := mutate(rand.New(rand.NewPCG(seed, 1)), body)
		b := mutate(rand.New(rand.NewPCG(seed, 1)), body)
		if !bytes.Equal(a, b) {
			t.Fatalf("seed %d: %q and %q", seed, a, b)
		}
		kinds[string(a)] = true
	}
	if len(kinds) < 150 {
		t.Errorf("only %d of 200 seeds differ", len(kinds))
	}
	if got := mutate(rand.New(rand.NewPCG(1, 1)), nil); len(got) != 0 {
		t.Errorf("%q of nothing", got)
	}
}

func TestChooseKnowsPatterns(t *testing.T) {
	got, err := choose(rows(), "measured/slow,ready/*")
	if err != nil || len(got) < 5 || !slices.ContainsFunc(got, func(r row) bool {
		return r.name() == "measured/slow"
	}) {
		t.Errorf("%d rows, %v", len(got), err)
	}
	if _, err := choose(rows(), "measured/nothing"); err == nil {
		t.Error("a row that is none was found")
	}
}
