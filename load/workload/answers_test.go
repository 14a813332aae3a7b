package workload

import (
	"testing"

	"plimsoll/load/measure"
)

// TestAnswersAreCountedByStatus checks that 429 and 503 are counted apart within their classes,
// that no server can create many series, and that only operations of the steady state are counted.
func TestAnswersAreCountedByStatus(t *testing.T) {
	reg := measure.NewRegistry(2)
	post := reg.Name("post")
	for _, status := range []int{429, 429, 503, 500, 477, 478, 599, 200} {
		if status >= 400 {
			reg.Recorder(0).Error(post, ClassOfStatus(status))
		}
		Answered(reg, "post", status, 0)
	}
	Answered(reg, "login_post", 429, 0)
	Answered(nil, "post", 429, 0)
	merged, all := map[string]*measure.Window{}, measure.NewWindow("op")
	for _, w := range reg.Cut() {
		merged[w.Name] = w
		if Steady(w.Name) {
			all.Merge(w)
		}
	}
	if len(merged) != 6 { // post, and 429, 503, 500, 4xx and 5xx of it
		t.Errorf("%d series, want 6: %v", len(merged), merged)
	}
	answers := AnswersOf(merged, func(op string) bool { return op == "post" })
	const want = "4xx 4 (429 2, others 2), 5xx 3 (500 1, 503 1, others 1)"
	if got := Failures(all, answers); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if other := AnswersOf(merged, func(op string) bool { return op == "upload" }); other != nil {
		t.Errorf("answers of another operation: %v", other)
	}
}

// TestExpectedAnswersAreNoOperations: they are counted beside the operations, by name, and an
// operation with too many is found.
func TestExpectedAnswersAreNoOperations(t *testing.T) {
	reg := measure.NewRegistry(2)
	const gone = "app.post.get.app_error"
	for op, n := range map[string][2]int{
		"get_thread":       {400, 21},
		"react":            {401, 20},
		"acknowledge_post": {30, 19},
	} {
		for range n[0] {
			reg.Recorder(0).Record(reg.Name(op), &measure.Op{Done: 1})
		}
		for range n[1] {
			Anticipated(reg, op, 404, gone, 0)
		}
	}
	Anticipated(reg, "login_get_thread", 404, gone, 0)
	Anticipated(nil, "get_thread", 404, gone, 0)
	merged, all := map[string]*measure.Window{}, measure.NewWindow("op")
	for _, w := range reg.Cut() {
		merged[w.Name] = w
		if Steady(w.Name) {
			all.Merge(w)
		}
	}
	if all.Count() != 831 || all.Errors() != 0 {
		t.Errorf("%d operations, %d failed; want 831 and none", all.Count(), all.Errors())
	}
	got := ExpectedOf(merged, Steady)
	if len(got) != 3 || got[1] != (ExpectedCount{"get_thread", 404, gone, 21}) ||
		got[1].String() != "21 expected 404 app.post.get.app_error" {
		t.Errorf("counted %+v", got)
	}
	if AnswersOf(merged, Steady) != nil {
		t.Error("they are among the failed operations")
	}
	if over := Overdone(merged); len(over) != 1 || over[0].Op != "get_thread" || over[0].N != 21 {
		t.Errorf("too many of %+v, want of get_thread", over)
	}
}
