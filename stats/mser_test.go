package stats

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
)

// TestMSERAgainstNumpy holds the best cut of each series against testdata/series.json.
func TestMSERAgainstNumpy(t *testing.T) {
	data, err := os.ReadFile("testdata/series.json")
	if err != nil {
		t.Fatal(err)
	}
	var ref struct {
		Series map[string]struct {
			Values []float64
			Cut    int
		}
	}
	if err := json.Unmarshal(data, &ref); err != nil || len(ref.Series) < 8 {
		t.Fatalf("%d series, %v", len(ref.Series), err)
	}
	for name, want := range ref.Series {
		z := mser(want.Values)
		if cut := MSERBatch * slices.Index(z, slices.Min(z)); cut != want.Cut {
			t.Errorf("%s: MSER-5 cuts %d, want %d", name, cut, want.Cut)
		}
	}
}
