package suspects

import (
	"slices"
	"testing"

	"plimsoll/judge/attribution"
)

const store = "github.com/acme/chat/server/v8/channels/store/sqlstore."

func function(name, file string) attribution.Function {
	return attribution.Function{Name: name, File: file, Kind: attribution.Own}
}

// found is an attribution of findings with shares.
func found(findings []attribution.FunctionChange, shares ...float64) attribution.Attribution {
	a := attribution.Attribution{Findings: findings}
	for i, s := range shares {
		a.Parts = append(a.Parts, attribution.CostPart{
			Kind: attribution.PartFunction, Finding: i, Share: s,
		})
	}
	return a
}

func TestRank(t *testing.T) {
	post := "/build/server/channels/store/sqlstore/post_store.go"
	a := found([]attribution.FunctionChange{
		{
			Function: function(store+"(*SqlPostStore).prepareThreadedResponse.func3", post),
			Callers:  []attribution.Function{function(store+"SqlPostStore.Save", post)},
			Within:   []attribution.Function{function(store+"decode[go.shape.string]", post)},
		},
		{Function: function("slot_getattr", "")},
		{Function: function(store+"(*SqlPostStore).Get", post)}, // what became cheaper
	}, 0.71, 0.2, -0.1)
	statements := []SuspectStatement{{
		Text:  "SELECT Id, ChannelId, RootId FROM Threads WHERE LastReplyAt > $1",
		Share: 0.4,
	}}
	file := "server/channels/store/sqlstore/post_store.go"
	method := "func (s *SqlPostStore) prepareThreadedResponse(ctx context.Context) error {"
	commits := []Commit{
		{ID: "body", Hunks: []Hunk{{File: file, Context: method, Added: []string{"\tx++"}}}},
		{ID: "behind", Hunks: []Hunk{{File: file, Context: method,
			Added: []string{"", "// fresh is new.", "func fresh() {", "}"}}}},
		{ID: "other receiver", Hunks: []Hunk{{File: file, Added: []string{"\tx++"},
			Context: "func (s *SqlUserStore) prepareThreadedResponse() {"}}},
		{ID: "other package", Hunks: []Hunk{{File: "app/post_store.go", Context: method,
			Added: []string{"\tx++"}}}},
		{ID: "caller", Hunks: []Hunk{{File: file, Added: []string{"\tx++"},
			Context: "func (s SqlPostStore) Save(p *Post) {"}}},
		{ID: "callee", Hunks: []Hunk{{File: file,
			Removed: []string{"func decode[T any](b []byte) T {"},
			Added:   []string{"func decode[T any](b []byte, n int) T {"}}}},
		{ID: "c", Hunks: []Hunk{{File: "src/heap.c", Context: "slot_getattr(TupleTableSlot *slot)",
			Removed: []string{"\treturn 1;"}}}},
		{ID: "statement", Hunks: []Hunk{{File: "x.go", Added: []string{
			"\tSelect(\"Id\", \"ChannelId\", \"RootId\").", "\tFrom(\"Threads\")."}}}},
		{ID: "cheaper", Hunks: []Hunk{{File: file, Added: []string{"\tx++"},
			Context: "func (s *SqlPostStore) Get(id string) {"}}},
		{ID: "unrelated", Hunks: []Hunk{{File: "x.go", Context: "func Get() {",
			Added: []string{"\tx++"}}}},
	}
	var got []string
	for _, s := range Rank(a, statements, commits) {
		got = append(got, s.Commit)
	}
	// 0.71, 0.7 of it, half of it, 0.4 of which three of four words, 0.2.
	want := []string{"body", "callee", "caller", "statement", "c"}
	if !slices.Equal(got, want) {
		t.Errorf("suspects %q, want %q", got, want)
	}
	first := Rank(a, statements, commits)[0]
	reason := "changes sqlstore.(*SqlPostStore).prepareThreadedResponse.func3, which is 71 % of the difference"
	if first.Reason != reason {
		t.Errorf("reason %q, want %q", first.Reason, reason)
	}
}

// TestRankSmallest: of two commits that touch as much, the one that changes less comes first, and a
// commit counts all that it touches.
func TestRankSmallest(t *testing.T) {
	a := found([]attribution.FunctionChange{
		{Function: function("p.f", "p/f.go")},
		{Function: function("p.g", "p/f.go")},
	}, 0.4, 0.3)
	hunk := func(context string) Hunk {
		return Hunk{File: "p/f.go", Context: context, Added: []string{"\tx++"}}
	}
	f, g, other := hunk("func f() {"), hunk("func g() {"), hunk("func h() {")
	got := Rank(a, nil, []Commit{
		{ID: "many", Hunks: []Hunk{g, other, other}},
		{ID: "few", Hunks: []Hunk{g}},
		{ID: "both", Hunks: []Hunk{f, g}},
	})
	if len(got) != 3 || got[0].Commit != "both" || got[1].Commit != "few" ||
		got[0].Weight < 0.69 ||
		got[0].Reason != "changes p.f, which is 40 % of the difference, "+
			"and 1 more that changed or lies around it" {
		t.Errorf("%+v", got)
	}
	crowd := make([]Commit, Most+1)
	for i := range crowd {
		crowd[i] = Commit{ID: "x", Hunks: []Hunk{f}}
	}
	if got := Rank(a, nil, crowd); len(got) != Most {
		t.Errorf("%d suspects, want %d", len(got), Most)
	}
	if got := Rank(attribution.Attribution{}, nil, []Commit{{ID: "x", Hunks: []Hunk{f}}}); got != nil {
		t.Errorf("suspects of nothing: %+v", got)
	}
}

// TestRankStatements: words that any statement has do not count, nor does a word alone.
func TestRankStatements(t *testing.T) {
	of := []SuspectStatement{{Text: "SELECT Name FROM Teams WHERE DeleteAt = $1", Share: 0.5}}
	for line, want := range map[string]int{
		"SELECT Name FROM other WHERE x": 0,
		"UPDATE Teams SET Name = 'x'":    1,
	} {
		commits := []Commit{{ID: "x", Hunks: []Hunk{{File: "x.sql", Added: []string{line}}}}}
		if got := Rank(attribution.Attribution{}, of, commits); len(got) != want {
			t.Errorf("%q: %+v, want %d", line, got, want)
		}
	}
	of[0].Unclear = true
	got := Rank(attribution.Attribution{}, of, []Commit{{ID: "x", Hunks: []Hunk{{File: "x.sql",
		Added: []string{"UPDATE Teams SET Name = 'x', DeleteAt = 0"}}}}})
	want := `changes the text of "SELECT Name FROM Teams WHERE DeleteAt = $1", ` +
		"50 % of the execution time that changed, up and down"
	if len(got) != 1 || got[0].Reason != want {
		t.Errorf("%+v, want %q", got, want)
	}
}

// TestRankBuiltStatements: a query builder has the words of a statement in literals, on lines of its
// calls. The statement belongs to the commit that changes most of them, on the side of its build.
func TestRankBuiltStatements(t *testing.T) {
	upsert := SuspectStatement{Share: 0.5, Added: true, Text: "INSERT INTO Preferences (UserId, Category, " +
		"Name, Value) VALUES (...) ON CONFLICT (userid, category, name) DO UPDATE SET Value = ?"}
	counted := SuspectStatement{Share: 0.2, Removed: true,
		Text: "SELECT count (?) FROM Sessions WHERE UserId = ? AND DeviceId = ? AND Token = ?"}
	built := []string{`Insert("Preferences").`, `Columns("UserId", "Category", "Name", "Value").`,
		`Values(p.UserId, p.Category, p.Name, p.Value)`}
	count := []string{`Select("count(0)").From("Sessions").`, `Where(sq.Eq{"UserId": p.UserId}).`,
		`Where(sq.Eq{"DeviceId": p.DeviceId}).`, `Where(sq.Eq{"Token": p.Token})`}
	commits := []Commit{
		{ID: "fields", Hunks: []Hunk{{File: "app/p.go",
			Added: []string{"p := Preferences{UserId: id, Category: c, Name: n, Value: v}"}}}},
		{ID: "translation", Hunks: []Hunk{{File: "i18n/en.json",
			Added: []string{`"preferences": "Category and Name of Value, UserId"`}}}},
		{ID: "most", Hunks: []Hunk{{File: "store/p.go", Added: built[:2]}, {File: "store/q.go",
			Added: []string{`Where("userid", "category", "name")`}}}},
		{ID: "some", Hunks: []Hunk{{File: "store/p.go",
			Added: []string{`Delete("Preferences").Where("UserId", "Category")`}}}},
		{ID: "upsert", Hunks: []Hunk{
			{File: "store/p.go", Context: "func save() {", Removed: count},
			{File: "store/p.go", Context: "func save() {", Added: built},
		}},
		{ID: "away", Hunks: []Hunk{{File: "store/p.go", Removed: built}}},
	}
	var got []string
	for _, s := range Rank(attribution.Attribution{}, []SuspectStatement{upsert, counted}, commits) {
		got = append(got, s.Commit)
	}
	if want := []string{"upsert", "most"}; !slices.Equal(got, want) {
		t.Errorf("suspects %q, want %q", got, want)
	}
}
