package dumps

import (
	"math"
	"strings"
	"testing"

	"plimsoll/plan"
	"plimsoll/reference/dataset"
)

// TestSizes holds the estimates to the dumps that were measured, and expects an extrapolation to be
// named as one.
func TestSizes(t *testing.T) {
	spec, ok := dataset.Preset("million")
	if !ok {
		t.Fatal("there is no preset million")
	}
	for _, c := range []struct {
		engine string
		posts  int
		bytes  float64
	}{
		{plan.PostgreSQL, 200_000, 311_101_913}, {plan.PostgreSQL, 1_000_000, 1_139_485_145},
		{plan.MySQL, 200_000, 698_990_203}, {plan.MySQL, 1_000_000, 2_067_578_520},
	} {
		spec.Posts = c.posts
		if got := float64(BytesOn(c.engine, spec)); math.Abs(got/c.bytes-1) > 0.01 {
			t.Errorf(
				"%d posts on %s: %.0f bytes estimated, %.0f measured",
				c.posts,
				c.engine,
				got,
				c.bytes,
			)
		}
	}
	if text := BytesText(spec); strings.Contains(text, "extrapolated") ||
		!strings.Contains(text, "1.1 GB on postgresql and 2.1 GB on mysql") {
		t.Errorf("a measured size: %q", text)
	}
	seed, _ := dataset.Preset("seed-000")
	if text := BytesText(seed); !strings.Contains(
		text,
		"12.3 GB on postgresql and 20.1 GB on mysql",
	) ||
		strings.Contains(text, "extrapolated") {
		t.Errorf("the size of the seed: %q", text)
	}
	beyond := seed
	beyond.Posts *= 2
	if text := BytesText(beyond); !strings.Contains(
		text,
		"24.3 GB on postgresql and 39.7 GB on mysql",
	) ||
		!strings.Contains(text, "extrapolated") {
		t.Errorf("a size beyond the measured ones: %q", text)
	}
	if BytesOf(seed) != BytesOn(plan.MySQL, seed) {
		t.Error("the estimate is not the larger one")
	}
}
