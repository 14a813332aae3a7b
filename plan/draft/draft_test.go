package draft

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/plan"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// A draft is a good plan, and its text is reviewed as a whole: the comments are for people who have
// no other plan.
func TestDrafts(t *testing.T) {
	const url, what = "http://127.0.0.1:8065", "a chat server, version 11.0.0"
	for name, f := range map[string]Facts{
		"hold": {
			Question: Hold,
			URL:      url,
			What:     what,
			Rules:    []string{"p99(op) < 2s", "promql: up{a='b'} > 0"},
		},
		"limited": {
			Question: Hold,
			URL:      "https://chat.example.com/sub",
			Most:     48,
			Limit:    "the team's size is 50",
			CA:       "it's.pem",
			Params:   map[string]string{"admin": "root", "team": "x y"},
			Length:   5 * time.Second,
		},
		"hostile": {
			Question: Hold,
			URL:      url,
			What:     "a server, version 1\nname: evil\u2028" + strings.Repeat("x", 400),
			Most:     2,
			Limit:    "x is 5\r\nname: evil",
		},
		"started": {
			Question: Hold,
			Release:  "/srv/5.37",
			Driver:   "chat",
			Engines:  []string{plan.PostgreSQL},
			Users:    200,
			Length:   30 * time.Minute,
		},
		"capacity": {Question: Supported, URL: url, What: what, Rules: []string{"p99(op) < 2s"}},
		"small": {
			Question: Supported,
			URL:      url,
			Users:    500,
			Most:     9,
			Limit:    "the license is none",
			Length:   90 * time.Minute,
		},
		"sizing": {Question: Graded, URL: url, What: what},
		"few":    {Question: Graded, URL: url, Users: 3, Length: 90 * time.Second},
		"releases": {
			Question: Changed,
			Release:  "./5.36",
			Other:    "./new one",
			Driver:   "chat",
			Engines:  []string{plan.PostgreSQL, plan.MySQL},
		},
		"servers": {Question: Changed, URL: url, Other: "http://127.0.0.1:8066", Users: 20},
	} {
		t.Run(name, func(t *testing.T) {
			f.File = "plan.yaml"
			f.Behavior = "person"
			f.With = "bot"
			got := f.YAML()
			if _, err := plan.Parse([]byte(got)); err != nil {
				t.Errorf("it is no good plan: %v\n%s", err, got)
			}
			file := filepath.Join("testdata", name+".yaml")
			if *update {
				failure.None(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want, err := os.ReadFile(file)
			if err != nil || got != string(want) {
				t.Errorf("%v; got\n%s\nwant\n%s", err, got, want)
			}
		})
	}
}

// The parts of a bounded test are the whole that was asked for, and none is empty.
func TestLengths(t *testing.T) {
	for _, q := range []Question{Hold, Supported, Graded, Changed} {
		if usual, least := q.Length(); least > usual {
			t.Errorf("%s: %v, and at least %v", q, usual, least)
		}
	}
	_, least := Hold.Length()
	for all := least; all < 2*time.Hour; all += 777 * time.Millisecond {
		settle, measure := parts(all, 6)
		if settle < time.Second || measure-settle < all/2 || settle+measure != all {
			t.Errorf("%v: %v, %v", all, settle, measure)
		}
	}
}

// Whatever a person's directories and accounts are called, a plan holds their names as they are.
func FuzzNames(f *testing.F) {
	for _, seed := range []string{"root", "it's", "a: b", "#x", "null", "Null", "~", "- a", "5.30", "\"q\"", "{}", "a #b", "é", "on", " x "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if strings.ContainsFunc(name, func(r rune) bool {
			return r < ' ' || r == 0x7f || r == 0xfffd || r == 0x85 || r == 0x2028 || r == 0x2029 ||
				r == 0xfeff
		}) ||
			name == "" || len(name) > 4000 || strings.Contains(name, "${") {
			return // the caller refuses these, or asks again
		}
		facts := Facts{
			Question: Hold,
			Release:  "d/" + name,
			Driver:   "chat",
			Behavior: "b",
			Params:   map[string]string{"admin": name},
		}
		p, err := plan.Parse([]byte(facts.YAML()))
		if err != nil {
			t.Fatalf("%q: %v\n%s", name, err, facts.YAML())
		}
		if p.Workload.Params["admin"] != name || p.Target.Binary != "d/"+name {
			t.Errorf("%q became %q and %q", name, p.Workload.Params["admin"], p.Target.Binary)
		}
	})
}
