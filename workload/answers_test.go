package workload

import (
	"testing"

	"plimsoll/measure"
)

// TestAnswersAreCountedByStatus: 429 and 503 are told apart within their classes, no server makes many series, and what is no operation of
// the steady state is not among them.
func TestAnswersAreCountedByStatus(t *testing.T) {
	reg := measure.NewRegistry(2)
	post := reg.Name("post")
	for _, status := range []int{429, 429, 503, 500, 477, 478, 599, 200} {
		if status >= 400 {
			reg.Recorder(0).Error(post, ClassOfStatus(status))
		}
		Answered(reg, "post", status)
	}
	Answered(reg, "login_post", 429)
	Answered(nil, "post", 429)
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
