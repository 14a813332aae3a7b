package read

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"plimsoll/cmd/internal/verbtest"
	"plimsoll/internal/failure"
	"plimsoll/record"
	"plimsoll/record/store/storetest"
)

func TestListNoise(t *testing.T) {
	root := t.TempDir()
	if status, out, errOut := verbtest.Run(t, Ls, "-aa", "-store", root); status != 0 ||
		!strings.Contains(errOut, "no comparison of a build with itself") ||
		!strings.Contains(out, "RUN SD") {
		t.Errorf("an empty store: status %d\n%s%s", status, out, errOut)
	}
	st := storetest.At(t, root)
	aa := record.AA{
		Comparison:  "a",
		At:          time.Unix(1, 0),
		Environment: "abc",
		Host:        "a host",
		Load:        "a load",
		Engine:      "mysql",
		Test:        "unbounded",
		Arm:         "copy",
		Metric:      "capacity",
		Pairs:       6,
		SD:          0.0282842712,
		Kind:        "same",
	}
	again := aa
	again.Comparison, again.Kind = "b", "worse"
	failure.None(t, st.AddAA(aa, again))
	status, out, _ := verbtest.Run(t, Ls, "-aa", "-store", root)
	// A run sd of 2 % finds 4.1 % in six blocks (by the study), as a ratio of geometric means.
	for _, want := range []string{"abc", "mysql", "capacity", "2 %", "4.11 %", "1 of 2", "a host", "a load", "  12  "} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing (status %d) in\n%s", want, status, out)
		}
	}
	_, out, _ = verbtest.Run(t, Ls, "-aa", "-json", "-store", root)
	var rows []struct {
		Metric string  `json:"metric"`
		RunSD  float64 `json:"run_sd"`
		False  int     `json:"false"`
	}
	if err := json.Unmarshal([]byte(out), &rows); err != nil || len(rows) != 1 ||
		rows[0].RunSD < 0.0199 ||
		rows[0].RunSD > 0.0201 ||
		rows[0].False != 1 {
		t.Errorf("%v, %v", rows, err)
	}
}
