package workload

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"plimsoll/load/measure"
)

// answered is the prefix of the names of series that count failed operations by the status of their
// answer: "http_429 post". Each of their operations is in the series of its name as well, so they
// are never among operations.
const answered = "http_"

// statuses are counted by themselves; others are counted together, as 4xx or 5xx, so that no server
// can make many series.
var statuses = map[int]bool{
	400: true,
	401: true,
	403: true,
	404: true,
	405: true,
	408: true,
	409: true,
	410: true,
	412: true,
	413: true,
	414: true,
	415: true,
	422: true,
	423: true,
	429: true,
	431: true,
	451: true,
	499: true,
	500: true,
	501: true,
	502: true,
	503: true,
	504: true,
	507: true,
	509: true,
	520: true,
	521: true,
	522: true,
	523: true,
	524: true,
	529: true,
}

// Answered counts that an operation of the steady state ended in an answer with an unwanted status,
// beside its record, in the phase in which it was due: the time that Done returned. It is for the
// rare case and takes locks. A status below 400 is not counted.
func Answered(reg *measure.Registry, op string, status int, due time.Duration) {
	if reg == nil || status < 400 || !Steady(op) {
		return
	}
	class, code := ClassOfStatus(status), strconv.Itoa(status)
	if !statuses[status] {
		code = class.String()
	}
	reg.Recorder(status).ErrorOf(reg.Name(answered+code+" "+op), class, due)
}

// AnswerOf splits the name of a series: "http_429 post" counts the operations "post" that were
// answered with "429". ok reports whether the name is of that kind.
func AnswerOf(series string) (status, op string, ok bool) {
	rest, found := strings.CutPrefix(series, answered)
	if !found {
		return "", "", false
	}
	return strings.Cut(rest, " ")
}

// AnswersOf counts by status how operations of the series that sel accepts were answered; nil when
// none failed so.
func AnswersOf(merged map[string]*measure.Window, sel func(op string) bool) map[string]uint64 {
	var out map[string]uint64
	for name, w := range merged {
		if status, op, ok := AnswerOf(name); ok && sel(op) && w.Count() > 0 {
			if out == nil {
				out = map[string]uint64{}
			}
			out[status] += w.Count()
		}
	}
	return out
}

// Failures returns a readable count of failed operations: "4xx 3708 (429 3708), dial 2". Classes
// come in their order, statuses ascending.
func Failures(w *measure.Window, answers map[string]uint64) string {
	var parts []string
	for i, n := range w.Classes {
		class := measure.Class(i)
		if n == 0 || class == measure.OK {
			continue
		}
		text := fmt.Sprintf("%s %d", class, n)
		var codes []string
		for code := 400; code < 600; code++ {
			if k := answers[strconv.Itoa(code)]; k > 0 && ClassOfStatus(code) == class {
				codes = append(codes, fmt.Sprintf("%d %d", code, k))
			}
		}
		if k := answers[class.String()]; k > 0 {
			codes = append(codes, fmt.Sprintf("others %d", k))
		}
		if len(codes) > 0 {
			text += " (" + strings.Join(codes, ", ") + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}
