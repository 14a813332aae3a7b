package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// ChecksOf returns the checks in the windows of a phase: those that failed most often first.
func ChecksOf(merged map[string]*measure.Window) (out []CheckCount) {
	for _, series := range slices.Sorted(maps.Keys(merged)) {
		if w := merged[series]; workload.OfChecks(series) && w != nil && w.Count() > 0 {
			out = append(out, CheckCount{
				strings.TrimPrefix(series, workload.Check), w.Classes[measure.OK], w.Errors(),
			})
		}
	}
	slices.SortStableFunc(out, func(a, b CheckCount) int { return cmp.Compare(b.Failed, a.Failed) })
	return out
}

// String returns the outcomes without the name.
func (c CheckCount) String() string { return fmt.Sprintf("%d passed, %d failed", c.Passed, c.Failed) }

// RunChecks writes the checks of a run as a table for a terminal; nothing where there are none.
func RunChecks(w io.Writer, checks []CheckCount) error {
	if len(checks) == 0 {
		return nil
	}
	t := newTable("Check", ">Passed", ">Failed")
	for _, c := range checks {
		t.add(c.Name, c.Passed, c.Failed)
	}
	_, err := io.WriteString(w, "\n"+strings.Join(t.text(), "\n")+"\n")
	return err
}

// checksSection returns the section on the checks of the arms; none where there are none.
func (d Document) checksSection(o OpTable) []section {
	t := newTable("Check", "Arm", ">Passed", ">Failed")
	for _, arm := range o.Checks {
		for _, c := range arm.Checks {
			t.add(c.Name, arm.Arm, c.Passed, c.Failed)
		}
	}
	return t.section("Checks" + dashLabel(d.engineLabel(o.Engine)))
}
