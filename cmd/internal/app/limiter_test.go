package app

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"

	"plimsoll/evidence"
	"plimsoll/internal/failure"
)

var update = flag.Bool("update", false, "write generated files anew")

// TestIndicatorsGolden keeps the table of docs/limiter.md, and parses every query as a run's would
// be.
func TestIndicatorsGolden(t *testing.T) {
	const path, from, to = "../../../docs/limiter.md", "<!-- indicators -->\n", "<!-- end -->"
	var table bytes.Buffer
	for _, x := range new(App).Catalog().Indicators() {
		name, limit := "`"+x.Limiter+"`", fmt.Sprintf("%.4g %s", x.Limit, x.Unit)
		switch x.Unit {
		case "ratio":
			limit = fmt.Sprintf("%.4g %%", 100*x.Limit)
		case "s":
			limit = fmt.Sprintf("%.4g ms", 1000*x.Limit)
		case "/s":
			limit = fmt.Sprintf("%.4g/s", x.Limit)
		}
		if x.Supports {
			name = "(" + name + ")"
		}
		fmt.Fprintf(&table, "| %s | %s | %s |\n", name, x.What, limit)
		for _, q := range []string{x.Query, x.Dose} {
			if q = evidence.Expand(q, 5*time.Second); q == "" {
				continue
			}
			if _, err := parser.NewParser(parser.Options{}).ParseExpr(q); err != nil {
				t.Errorf("%s: %s: %v", x.Limiter, q, err)
			}
		}
	}
	b, err := os.ReadFile(path)
	failure.None(t, err)
	head, rest, ok := strings.Cut(string(b), from)
	_, tail, ok2 := strings.Cut(rest, to)
	if !ok || !ok2 {
		t.Fatalf("%s has no marks for the table", path)
	}
	want := head + from + table.String() + to + tail
	if *update {
		err = os.WriteFile(path, []byte(want), 0o644)
	} else if want != string(b) {
		t.Errorf("%s is not what the catalog says; run go test ./cmd/internal/app -run IndicatorsGolden -update", path)
	}
	failure.None(t, err)
}
