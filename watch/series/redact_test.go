package series

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
)

// Labels of a page or a probe are stored without secrets, in values and names, and series that
// differed by them stay two.
func TestLabelsAreStoredWithoutSecrets(t *testing.T) {
	db := create(t)
	db.Redact(func(text string) string {
		return strings.NewReplacer("geheim", "[redacted]", "secret", "[redacted]").Replace(text)
	})
	start := time.Now()
	page := []byte(
		"x{a=\"geheim\"} 1\nx{a=\"secret\"} 2\nx{a=\"good\"} 3\n{\"geheim_total\",b=\"my secret\"} 4\n{\"y\",\"secret\"=\"1\"} 5\n",
	)
	for n := range 3 {
		at := start.Add(time.Duration(n) * time.Second)
		if n, err := db.AppendText(at, page, "", map[string]string{"instance": "app-0"}); err != nil ||
			n != 5 {
			t.Fatalf("%d samples, %v", n, err)
		}
		failure.None(t, db.Append(at, []Sample{sampleOf("z", 6, "q", "select 'geheim'")}))
	}
	var got []string
	points, err := db.Query(t.Context(), `{__name__=~".+"}`, start.Add(2*time.Second))
	failure.None(t, err)
	for _, p := range points {
		delete(p.Labels, "instance")
		got = append(got, fmt.Sprint(p.Labels, p.Value))
	}
	want := []string{
		"map[__name__:[redacted]_total b:my [redacted]] 4", "map[__name__:x a:[redacted]] 1", "map[__name__:x a:[redacted] 2] 2", "map[__name__:x a:good] 3",
		"map[[redacted] 2:1 __name__:y] 5", "map[__name__:z q:select '[redacted]'] 6",
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A page that shows new secrets for as long as it lasts makes the memory of their replacements no
// larger than that of the series that are stored, and what is stored keeps its replacement.
func TestRefusedSecretsAreForgotten(t *testing.T) {
	db := create(t)
	db.write.max.sourceSeries = 10
	db.Redact(func(text string) string {
		if strings.HasPrefix(text, "secret") {
			return "[redacted]"
		}
		return text
	})
	stored := 0
	for n := range 500 {
		page := fmt.Appendf(nil, "x{a=\"secret%d%s\"} 1\n", n, strings.Repeat("x", 1000))
		if _, err := db.AppendText(at(n), page, "", nil); err == nil {
			stored++
		}
		// A probe's series that is refused: a name may not occur twice.
		if err := db.Append(at(n), []Sample{sampleOf("y", 0, "a", fmt.Sprint("secret", n), "a", "b")}); err == nil {
			t.Fatal("a series with a label twice is stored")
		}
	}
	w := db.write
	if stored != 10 || len(w.veil.known) != 10 || len(w.veil.alike) != 1 ||
		w.veil.alike["[redacted]"] != 10 {
		t.Errorf(
			"of %d series that were stored the replacements of %d texts are kept, %v",
			stored,
			len(w.veil.known),
			w.veil.alike,
		)
	}
	w.max.sourceSeries++
	page := []byte("x{a=\"secret0" + strings.Repeat("x", 1000) + "\"} 1\nx{a=\"secret-other\"} 2\n")
	failure.None(t, failure.Of(db.AppendText(at(500), page, "", nil)))
	for expr, want := range map[string]float64{
		`x{a="[redacted]"}`:    1,
		`x{a="[redacted] 11"}`: 2,
		`count(x)`:             2,
	} {
		if got := one(t, db, expr, at(500)); got != want {
			t.Errorf("%s = %v, want %v", expr, got, want)
		}
	}
}
