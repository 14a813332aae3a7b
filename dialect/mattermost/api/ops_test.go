package api

import (
	"testing"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// TestOperationsAreRecordedUnderTheirSeries holds that a table has a name for each operation, which
// is that of its series.
func TestOperationsAreRecordedUnderTheirSeries(t *testing.T) {
	reg := measure.NewRegistry(1)
	for _, prefix := range []string{"", workload.Login, workload.StormPrefix + "reconnect"} {
		names := NewTable(reg, prefix).names
		for i, series := range SeriesOf(prefix) {
			if names[i] != reg.Name(series) {
				t.Errorf("%s of %q is not recorded under its name", series, prefix)
			}
		}
	}
}
