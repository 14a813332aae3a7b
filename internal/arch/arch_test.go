package arch

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestShape holds the repository to every rule.
func TestShape(t *testing.T) {
	repo, err := load(os.DirFS(filepath.Join("..", "..")))
	if err != nil {
		t.Fatal(err)
	}
	if len(repo.packages) < 15 || len(repo.texts) < 10 {
		t.Fatalf(
			"only %d packages and %d texts were found: the rules would hold for nothing",
			len(repo.packages),
			len(repo.texts),
		)
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, problem := range r.check(repo) {
				t.Error(problem)
			}
			if t.Failed() {
				t.Logf("why: %s", r.why)
			}
		})
	}
}

// TestEveryRuleCanFail runs each rule over a small tree that breaks it. The comment of
// testdata/RULE.txtar lists the findings of the rule, one line each, and it may find nothing else:
// lines that must pass stand in the same tree.
func TestEveryRuleCanFail(t *testing.T) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			archive, err := txtar.ParseFile(filepath.Join("testdata", r.name+".txtar"))
			if err != nil {
				t.Fatal(err)
			}
			fsys := fstest.MapFS{}
			if r.name == "picture" { // its small tree has every room but those in the file absent
				for _, room := range slices.Concat(slices.Concat(rows...), driverList, pure, inTests, notInProgram, outside) {
					if !bytes.Contains(archive.Files[0].Data, []byte(room+"\n")) {
						fsys[path.Join(room, "x.go")] = &fstest.MapFile{Data: []byte("package x")}
					}
				}
			}
			for _, f := range archive.Files {
				data := f.Data
				if r.name == "size" && strings.HasSuffix(f.Name, "long.go") {
					data = append(data, strings.Repeat("//\n", mostLines)...)
				}
				fsys[f.Name] = &fstest.MapFile{Data: data}
			}
			bad, err := load(fsys)
			if err != nil {
				t.Fatal(err)
			}
			got := r.check(bad)
			want := strings.Split(strings.TrimSpace(string(archive.Comment)), "\n")
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf(
					"got\n  %s\nwant\n  %s",
					strings.Join(got, "\n  "),
					strings.Join(want, "\n  "),
				)
			}
		})
	}
}

// TestTheTableIsThePicture keeps the rows free of doubles; the rule picture holds them to the tree.
func TestTheTableIsThePicture(t *testing.T) {
	seen := map[string]bool{}
	for _, names := range rows {
		for _, n := range names {
			if seen[n] {
				t.Errorf("%s stands in two rows", n)
			}
			seen[n] = true
		}
	}
}

func TestParseDebts(t *testing.T) {
	got, err := parseDebts([]byte("# why\n\nplans product 8 # soon\n"))
	if err != nil || got["plans"]["product"] != 8 {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"plans 8", "plans product eight", "plans product 0", "plans product 8 9"} {
		if _, err := parseDebts([]byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
