package series

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/failure"
)

// churn is a page of n series that no other page of the source has.
func churn(page, n, padding int) []byte {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(
			&b,
			"churn{page=\"%d\",n=\"%d\",pad=\"%s\"} 1\n",
			page,
			i,
			strings.Repeat("x", padding),
		)
	}
	return []byte(b.String())
}

// scraped appends pages of new series until one is refused, and returns which and why.
func scraped(t *testing.T, db *DB, instance string, n, padding int) (page int, err error) {
	t.Helper()
	for ; page < 100; page++ {
		if _, err = db.AppendText(at(page), churn(page, n, padding), "", map[string]string{"instance": instance}); err != nil {
			return page, err
		}
	}
	t.Fatalf("%d pages of %d new series each were stored", page, n)
	return page, nil
}

// TestPageWithNewSeriesEachTimeIsRefused checks that the additions of a source to a run are bounded
// in series and in bytes, the refused page leaves nothing, and neither another source nor the
// probes of this tool lose their room.
func TestPageWithNewSeriesEachTimeIsRefused(t *testing.T) {
	db := create(t)
	most := limits{
		series:       1500,
		scraped:      1000,
		sourceSeries: 500,
		sourceBytes:  160_000,
		samples:      500,
	}
	db.write.max = most
	page, err := scraped(t, db, "many", 100, 1)
	if err == nil ||
		!strings.Contains(err.Error(), "more than 500 different series of one source in one run") ||
		page != 5 {
		t.Errorf("page %d: %v", page, err)
	}
	page, err = scraped(t, db, "long", 50, 1000)
	if err == nil ||
		!strings.Contains(
			err.Error(),
			"labels of more than 160000 bytes in the series of one source in one run",
		) ||
		page != 3 {
		t.Errorf("page %d: %v", page, err)
	}
	_, err = scraped(t, db, "third", 100, 1)
	failure.Says(t, err, "more than 1000 different series of all scraped pages")
	if n := len(db.write.series); n != most.scraped {
		t.Errorf("%d series are held, want %d", n, most.scraped)
	}
	for _, f := range db.write.sources {
		if len(f.texts) > most.sourceSeries || f.held > most.sourceBytes {
			t.Errorf("%d texts of %d bytes are held", len(f.texts), f.held)
		}
	}
	failure.None(t, db.Append(at(1000), []Sample{{Name: "own", Value: 1}}))
	// Known series go on.
	if n, err := db.AppendText(at(1000), churn(0, 100, 1), "", map[string]string{"instance": "many"}); n != 100 ||
		err != nil {
		t.Errorf("known series: %d stored, %v", n, err)
	}
}

// TestRunHasAtMostMaxSeries: the bound of a run holds for samples of probes, too.
func TestRunHasAtMostMaxSeries(t *testing.T) {
	db := create(t)
	if got, want := db.write.max, (limits{150_000, 100_000, 50_000, 16 << 20, 50_000}); got != want {
		t.Errorf("limits %+v, want %+v", got, want)
	}
	db.write.max.series = 300
	for page := range 4 {
		var samples []Sample
		for i := range 100 {
			samples = append(samples, sampleOf("churn", 1, "n", fmt.Sprint(page*100+i)))
		}
		if err := db.Append(at(page), samples); (err != nil) != (page == 3) {
			t.Fatalf("page %d: %v", page, err)
		}
	}
	if n := len(db.write.series); n != 300 {
		t.Errorf("%d series are held, want 300", n)
	}
}

// TestPageBeyondLimitsIsRefused: samples of a page, labels of a series, and their bytes.
func TestPageBeyondLimitsIsRefused(t *testing.T) {
	labeled := func(n int) string {
		var ls []string
		for i := range n {
			ls = append(ls, fmt.Sprintf("l%d=\"v\"", i))
		}
		return "x{" + strings.Join(ls, ",") + "} 1\n"
	}
	long := func(n int) string { return "x{a=\"" + strings.Repeat("v", n) + "\"} 1\n" }
	for name, c := range map[string]struct{ page, want string }{
		"samples":        {strings.Repeat("x 1\n", MaxSamples+1), "more than 50000 samples on one page"},
		"labels":         {labeled(MaxLabels + 1), "has 65 labels; want at most 64"},
		"as many labels": {labeled(MaxLabels), ""},
		"bytes":          {long(MaxLabelBytes), "want at most 4096"},
		"as many bytes":  {long(MaxLabelBytes - len("__name__xa")), ""},
		"far more bytes": {long(1<<20) + "y 1\n", "want at most 4096"},
	} {
		t.Run(name, func(t *testing.T) {
			db := create(t)
			_, err := db.AppendText(at(1), []byte(c.page), "", nil)
			failure.Want(t, err, c.want)
			failure.None(t, failure.Of(db.AppendText(at(2), []byte("y 1\n"), "", nil)))
		})
	}
	if err := create(t).Append(at(1), []Sample{sampleOf("x", 0, "a", strings.Repeat("v", MaxLabelBytes))}); err == nil {
		t.Error("a probe's sample of that size is stored")
	}
}

// TestSpellingsOfOneSeriesAreNotHeld: a page that writes one series in a new way each time fills no
// memory.
func TestSpellingsOfOneSeriesAreNotHeld(t *testing.T) {
	db := create(t)
	for i := range 40 {
		text := "x{a=\"1\"" + strings.Repeat(" ", 1+i) + "} 1\n" +
			"y{a=\"1\"" + strings.Repeat(" ", 1<<20+i) + "} 1\n"
		failure.None(t, failure.Of(db.AppendText(at(i), []byte(text), "", nil)))
	}
	for _, f := range db.write.sources {
		if f.made != 2 || f.held > 40*100 {
			t.Errorf("%d series, texts of %d bytes held", f.made, f.held)
		}
	}
}
