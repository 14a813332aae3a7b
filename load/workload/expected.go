package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/load/measure"
)

// expected is the prefix of the names of series that count expected answers: "expected_404
// app.post.get.app_error get_thread". Each of their operations is in the series of its name as
// well, as one that ended ok, so they are never among operations.
const expected = "expected_"

// Anticipated counts that an operation of the steady state ended in an expected answer, beside its
// record, as [Answered] does. Such an answer has a status from 400 on and is right where users work
// at once: the post that one of them opens was deleted by another a moment ago. A dialect names
// each by the operation, the status and the server's own identifier of the error. Never by the
// status alone: a broken endpoint could hide behind that. It is for the rare case and takes locks.
func Anticipated(reg *measure.Registry, op string, status int, id string, due time.Duration) {
	if reg == nil || !Steady(op) {
		return
	}
	reg.Recorder(status).
		ErrorOf(reg.Name(expected+strconv.Itoa(status)+" "+id+" "+op), ClassOfStatus(status), due)
}

// OfAnswers reports whether a series counts operations that are in the series of their name as
// well: failed ones by the status of their answer ([Answered]), or expected answers
// ([Anticipated]).
func OfAnswers(series string) bool {
	return strings.HasPrefix(series, answered) || strings.HasPrefix(series, expected)
}

// An ExpectedCount is the number of operations that ended in one expected answer.
type ExpectedCount struct {
	Op     string `json:"op"`
	Status int    `json:"status"`
	ID     string `json:"id"`
	N      uint64 `json:"n"`
}

// String is the count for people: "12 expected 404 app.post.get.app_error".
func (c ExpectedCount) String() string {
	return fmt.Sprintf("%d expected %d %s", c.N, c.Status, c.ID)
}

// ExpectedOf counts the expected answers of the operations that sel accepts, sorted by operation,
// status and identifier.
func ExpectedOf(merged map[string]*measure.Window, sel func(op string) bool) []ExpectedCount {
	var out []ExpectedCount
	for name, w := range merged {
		if c, ok := expectedIn(name); ok && sel(c.Op) && w.Count() > 0 {
			c.N = w.Count()
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(x, y ExpectedCount) int {
		return cmp.Or(
			cmp.Compare(x.Op, y.Op),
			cmp.Compare(x.Status, y.Status),
			cmp.Compare(x.ID, y.ID),
		)
	})
	return out
}

// expectedIn takes the name of such a series apart.
func expectedIn(series string) (c ExpectedCount, ok bool) {
	rest, ok := strings.CutPrefix(series, expected)
	if !ok {
		return c, false
	}
	status, rest, _ := strings.Cut(rest, " ")
	c.ID, c.Op, ok = strings.Cut(rest, " ")
	n, err := strconv.Atoi(status)
	c.Status = n
	return c, ok && err == nil
}

// Beyond these an expected answer is no longer the race of two users.
const (
	MostExpected   = 0.05 // of an operation's answers
	FewestExpected = 20   // answers, of which one operation must have had as many
)

// Overdone are the operations of which more answers than [MostExpected], and at least
// [FewestExpected], were expected ones.
func Overdone(merged map[string]*measure.Window) []ExpectedCount {
	var out []ExpectedCount
	for _, c := range ExpectedOf(merged, Steady) {
		if i := len(out) - 1; i >= 0 && out[i].Op == c.Op { // several answers of one operation
			out[i].N += c.N
			continue
		}
		out = append(out, ExpectedCount{Op: c.Op, N: c.N})
	}
	return slices.DeleteFunc(out, func(c ExpectedCount) bool {
		w := merged[c.Op]
		return w == nil || c.N < FewestExpected || float64(c.N) <= MostExpected*float64(w.Count())
	})
}
