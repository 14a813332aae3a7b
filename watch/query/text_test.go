package query

import (
	"strings"
	"testing"

	"plimsoll/internal/failure"
)

func TestNormalize(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"parameters", "SELECT a,b FROM  posts\nWHERE id=$1 LIMIT $2", "SELECT a, b FROM posts WHERE id = ? LIMIT ?"},
		{"comments", "/* Get */ SELECT a -- all\nFROM p /* x /* y */ z */ WHERE b='it''s'", "SELECT a FROM p WHERE b = ?"},
		{"a digest", "SELECT `p` . `id` FROM `posts` `p` WHERE `id` IN (...)", "SELECT `p`.`id` FROM `posts` `p` WHERE `id` IN (...)"},
		{"lists", "SELECT a FROM p WHERE b IN ($1, $2,$3) AND c IN ($4)", "SELECT a FROM p WHERE b IN (...) AND c IN (...)"},
		{"rows", "INSERT INTO p (a, b) VALUES ($1, $2), ($3, $4), ($5, $6) RETURNING a", "INSERT INTO p (a, b) VALUES (...) RETURNING a"},
		{"no list", "SELECT f($1, $2) FROM p", "SELECT f (?, ?) FROM p"},
		{"numbers", "SELECT a1 FROM t2 WHERE b > 1.5e3 AND c=-7 AND d=0x1F", "SELECT a1 FROM t2 WHERE b > ? AND c =- ? AND d = ?"},
		{"texts", `SELECT a FROM p WHERE b=E'it\'s' AND c=$q$a'b$q$ AND d=x'1F' AND e=$$z$$`, "SELECT a FROM p WHERE b = ? AND c = ? AND d = ? AND e = ?"},
		{"an open text", "SELECT a FROM p WHERE b='geheim7", "SELECT a FROM p WHERE b = ?"},
		{"a cast", "SELECT a :: text FROM p WHERE b=$1::int", "SELECT a::text FROM p WHERE b = ?::int"},
		{"a role", "ALTER ROLE x PASSWORD 'geheim7'", "ALTER ROLE"},
		{"a setting", "set x = geheim7", "SET"},
		{"a savepoint", "SAVEPOINT sp_17", "SAVEPOINT"},
		{"a transaction", "begin isolation level serializable", "BEGIN"},
		{"nothing", " -- x", ""},
	} {
		if got := normalize(tt.text, false); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestOperation(t *testing.T) {
	for text, want := range map[string]string{
		"/* PostStore.Get */ SELECT 1":                          "PostStore.Get",
		"-- name: GetPost :one\nSELECT 1":                       "GetPost",
		"SELECT 1 /*action='run',route='%2Fposts'*/":            "",
		"SELECT 1 -- the newest first":                          "",
		"SELECT 1":                                              "",
		"SELECT '/* No */' /* api.createPost */ FROM p":         "api.createPost",
		"/* " + strings.Repeat("a", 80) + " */ SELECT a FROM p": "",
	} {
		if got := Operation(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// Statements that differ in their lists of columns have one skeleton, and no others.
func TestSkeleton(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"SELECT a FROM p WHERE b = ?", "SELECT a, f (c, d) FROM p WHERE b = ?", true},
		{"SELECT a FROM p WHERE b = ?", "SELECT a FROM p WHERE c = ?", false},
		{"SELECT a FROM p WHERE b = ?", "SELECT a FROM q WHERE b = ?", false},
		{"INSERT INTO p (a) VALUES (...)", "INSERT INTO p (a, b) VALUES (?, now ())", true},
		{"UPDATE p SET a = ? WHERE b = ?", "UPDATE p SET a = ?, c = ? WHERE b = ?", true},
		{"UPDATE p SET a = ? WHERE b = ?", "UPDATE p SET a = ?", false},
		{"SELECT a FROM p WHERE b IN (SELECT c FROM q)", "SELECT x FROM p WHERE b IN (SELECT c, d FROM q)", true},
	} {
		a, b := Skeleton(normalize(tt.a, false)), Skeleton(normalize(tt.b, false))
		if (a == b) != tt.same {
			t.Errorf("%q\n%q: want same %v", a, b, tt.same)
		}
	}
}

// No constant of a text is in its normal form, and the normal form is its own.
func FuzzNormalize(f *testing.F) {
	f.Add("SELECT a FROM p WHERE b='", "' AND c IN ($1, 2)")
	f.Add("ALTER ROLE x PASSWORD '", "'")
	f.Add("SELECT E'\\", "' -- /* $$")
	f.Add("(? . . .", "")
	f.Add("(a :: : b", ":: -1")
	f.Fuzz(func(t *testing.T, before, after string) {
		got := normalize(before+after, false)
		if again := normalize(got, false); again != got && len(got) <= mostText {
			t.Errorf("%q is normalized to %q", got, again)
		}
		const secret = "geheim7seven"
		list, _ := tokens(before)
		clean := before == "" || len(list) > 0 && !strings.ContainsAny(before, "'\"`$-/\\")
		if text := before + " '" + secret + "' " + after; clean && strings.Contains(normalize(text, false), secret) {
			t.Errorf("%q keeps its constant: %q", text, normalize(text, false))
		}
	})
}

func TestReadPlan(t *testing.T) {
	n, err := ReadPlan([]byte(`[{"Plan": {"Node Type": "Limit", "Total Cost": 9, "Plans": [
		{"Node Type": "Index Scan", "Scan Direction": "Backward", "Index Name": "idx", "Relation Name": "posts", "Plan Rows": 3}]}}]`))
	failure.None(t, err)
	if got := strings.Join(n.Lines(), "\n"); got != "Limit\n  Index Scan Backward using idx on posts" {
		t.Error(got)
	}
	for _, bad := range []string{"", "[]", "{}", `[{"Plan": {}}]`} {
		if n, err := ReadPlan([]byte(bad)); err == nil {
			t.Errorf("%q: %v", bad, n)
		}
	}
	deep := strings.Repeat(`{"Node Type": "A", "Plans": [`, 3000)
	n, err = ReadPlan([]byte(`[{"Plan": ` + deep + strings.Repeat("]}", 3000) + "}]"))
	if err != nil || len(n.Lines()) != mostSteps {
		t.Errorf("a deep plan has %v", err)
	}
}

func TestSince(t *testing.T) {
	before := Figures{Calls: 10, Seconds: 2, Rows: 30}
	if got := (Figures{Calls: 12, Seconds: 5, Rows: 31}).Since(before); got != (Figures{Calls: 2, Seconds: 3, Rows: 1}) {
		t.Error(got)
	}
	// A statement that was dropped in between has no growth below zero.
	if got := (Figures{Calls: 3, Seconds: 1}).Since(before); got != (Figures{Calls: 3, Seconds: 1}) {
		t.Error(got)
	}
}
