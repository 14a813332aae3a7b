package read

import (
	"strings"
	"testing"

	"plimsoll/cmd/exit"
)

// The supported users in the results of load-test-ng are comparisons of a trend.
func TestTrendOfResults(t *testing.T) {
	mysql := func(base, fresh string) [][3]string { return [][3]string{{"mysql", base, fresh}} }
	status, out, errOut := in(t, map[string]string{
		"a.txt": resultsText([2]string{"v1", "v2"}, mysql("14186", "16007")) + "notes\n",
		"b.txt": resultsText([2]string{"v2", "v3"}, mysql("100", "110")),
		"c.txt": resultsText([2]string{"base", "new"}, mysql("100", "110")),
		"d.csv": "base_release,new_release,base,new\nv3,v4,1,2\nv3,v4,1,3\n",
	}, Report, "trend", "a.txt", "b.txt", "c.txt", "d.csv")
	const unread = "a.txt: from line 15 on, lines outside of the results were not read: 1"
	if status != exit.OK || !strings.Contains(errOut, unread) {
		t.Errorf("status %d, %q", status, errOut)
	}
	for _, want := range []string{"from v1 to v3", "from base of c.txt to new of c.txt"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	const nameless = "without releases: name them in the columns base_release and new_release"
	status, _, errOut = in(t, map[string]string{"a.csv": "base,new\n1,2\n"}, Report, "trend", "a.csv")
	if status != exit.Usage || !strings.Contains(errOut, nameless) {
		t.Errorf("pairs: status %d, %q", status, errOut)
	}
}
