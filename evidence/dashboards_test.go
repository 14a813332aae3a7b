package evidence

import (
	"slices"
	"testing"

	"plimsoll/report"
)

func TestTellApart(t *testing.T) {
	lines := []report.PanelLine{{Name: "load"}, {Name: "load"}, {Name: "blocked"}}
	tellApart(lines, []map[string]string{{"__name__": "a"}, {
		"__name__": "a",
		"role":     "proxy",
		"instance": "proxy-0",
	}, {}})
	got := []string{lines[0].Name, lines[1].Name, lines[2].Name}
	if want := []string{"load this host", "load proxy-0", "blocked"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := legendOf("{{device}} read, {{ cpu }}", map[string]string{"device": "sda"}); got != "sda read," {
		t.Errorf("legend %q", got)
	}
}
