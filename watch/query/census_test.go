package query

import "testing"

func TestGather(t *testing.T) {
	r, source := Gather([]Counted{
		{"SELECT a FROM p WHERE b IN ($1)", Figures{Calls: 1, Seconds: 1}},
		{"/* Get */ SELECT a FROM p WHERE b IN ($1, $2)", Figures{Calls: 2, Seconds: 3}},
		{"SELECT c FROM q", Figures{Calls: 5, Seconds: 2}},
		{"SELECT d FROM q", Figures{Calls: 7, Seconds: 0.5}},
		{"<insufficient privilege>", Figures{Calls: 11, Seconds: 9}},
		{"/* plimsoll */ SELECT 1", Figures{Calls: 13, Seconds: 9}},
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
