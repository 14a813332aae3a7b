package verdict_test

import (
	"testing"

	"plimsoll/judge/verdict"
)

func BenchmarkJudge(b *testing.B) {
	for _, lines := range [][]string{
		{"1,16997,16950", "2,16850,17010", "3,17102,16866", "4,16940,17020", "5,17011,16902", "6,16899,16990"},
		{"1,1000,1040", "2,1000,930", "3,1000,1020", "4,1000,900", "5,1000,1060", "6,1000,965"},
	} {
		pairs := rows(b, lines...)
		b.Run(string(verdict.Judge(capacity(), pairs, verdict.Fixed(6)).Kind), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				verdict.Judge(capacity(), pairs, verdict.Fixed(6))
			}
		})
	}
}
