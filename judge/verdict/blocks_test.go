package verdict_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
)

// TestBlocksForSame checks the table beside a result: how many blocks, never, or nothing.
func TestBlocksForSame(t *testing.T) {
	tests := []struct {
		name     string
		endpoint plan.Endpoint
		rows     []string
		want     []verdict.Blocks
	}{
		{"equal", capacity(), []string{"1,1000,1000"}, []verdict.Blocks{{
			RunSD:  0.01,
			Blocks: 6,
		}, {RunSD: 0.02, Blocks: 6}, {RunSD: 0.03, Blocks: 9}, {RunSD: 0.05, Blocks: 20}}},
		{"at the margin below", capacity(), []string{"1,1050,1000"}, []verdict.Blocks{{
			RunSD: 0.01,
			Never: true,
		}, {RunSD: 0.02, Never: true}, {RunSD: 0.03, Never: true}, {RunSD: 0.05, Never: true}}},
		// ((1.6449+0.8416)·0.01·√2/ln(1.05/1.049))² is 1362; Student's t adds two.
		{"near the margin", capacity(), []string{"1,1000,1049"}, []verdict.Blocks{{
			RunSD:  0.01,
			Blocks: 1364,
		}, {
			RunSD:  0.02,
			Blocks: 5450,
		}, {RunSD: 0.03, TooMany: true}, {RunSD: 0.05, TooMany: true}}},
		{"a bound", capacity(), []string{"1,1000,>=1049"}, nil},
		{"a share", failures(), []string{"1,0,0.1"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := verdict.Judge(tt.endpoint, rows(t, tt.rows...), verdict.Options{}).
				BlocksForSame()
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
