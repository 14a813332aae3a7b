package query

import "testing"

func TestGather(t *testing.T) {
	r, source := Gather([]Counted{
		{Text: "SELECT a FROM p WHERE b IN ($1)", Figures: Figures{Calls: 1, Seconds: 1}},
		{
			Text:    "/* Get */ SELECT a FROM p WHERE b IN ($1, $2)",
			Figures: Figures{Calls: 2, Seconds: 3},
		},
		{Text: "SELECT c FROM q", Figures: Figures{Calls: 5, Seconds: 2}},
		{Text: "SELECT d FROM q", Figures: Figures{Calls: 7, Seconds: 0.5}},
		{Text: "<insufficient privilege>", Figures: Figures{Calls: 11, Seconds: 9}},
		{Text: "/* plimsoll */ SELECT 1", Figures: Figures{Calls: 13, Seconds: 9}},
	}, 2)
	if len(r.Statements) != 2 || r.Omitted != 2 || r.Others.Calls != 18 || r.Others.Seconds != 9.5 {
		t.Fatalf("%+v", r)
	}
	const text = "SELECT a FROM p WHERE b IN (...)"
	first := r.Statements[0]
	if first.Text != text || first.Calls != 3 || first.Seconds != 4 || first.Operation != "Get" {
		t.Errorf("%+v", first)
	}
	if len(source) != 2 || source[text] != "/* Get */ SELECT a FROM p WHERE b IN ($1, $2)" {
		t.Errorf("%q", source)
	}
}

// Texts of MySQL have escapes and double quotes around constants.
func TestGatherOfMySQL(t *testing.T) {
	for _, text := range []string{
		`SELECT a FROM p WHERE b = 'it\'s geheim' AND c = ?`,
		`SELECT a FROM p WHERE b = "it's geheim" AND c = 7 # geheim`,
	} {
		r, _ := Gather([]Counted{{Text: text, MySQL: true, Figures: Figures{Calls: 1}}}, 9)
		if got := r.Statements[0].Text; got != "SELECT a FROM p WHERE b = ? AND c = ?" {
			t.Errorf("%q", got)
		}
	}
}
