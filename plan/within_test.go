package plan_test

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/plan"
)

const fitted = `
name: fitted
target: {driver: process, command: [server], url: "http://127.0.0.1:${PORT}"}
workload: {behavior: poster}
bounded: {users: 50, ramp: 2s, settle: 4s, measure: auto}
compare: {arms: {base: {}, new: {args: [-x]}}, mode: duet}
`

func TestWithin(t *testing.T) {
	const between = 14 * time.Second
	tests := []struct {
		name    string
		measure string // "" for auto
		left    time.Duration
		blocks  int
		length  time.Duration
	}{
		{"six of the shortest", "", 324 * time.Second, 6, 7 * time.Second},
		{"six that are longer", "", 7 * time.Minute, 6, 15 * time.Second},
		{"more blocks", "", 20 * time.Minute, 13, 26 * time.Second},
		{"a declared length", "10s", 10 * time.Minute, 10, 10 * time.Second},
		{"a day", "", 24 * time.Hour, 100, 30 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := fitted
			if tt.measure != "" {
				src = strings.Replace(src, "measure: auto", "measure: "+tt.measure, 1)
			}
			p, err := plan.Parse([]byte(src))
			failure.None(t, err)
			q, least := p.Within(tt.left, between)
			if q == nil {
				t.Fatalf("%v is too short, want %v", tt.left, least)
			}
			c, b := q.Compare, q.Bounded
			if c.Blocks != tt.blocks || b.Measure != tt.length || b.Auto() || c.Auto() {
				t.Errorf(
					"%d blocks of %v, auto %v; want %d of %v",
					c.Blocks,
					b.Measure,
					b.Auto(),
					tt.blocks,
					tt.length,
				)
			}
			if all := time.Duration(2*c.Blocks) * (q.RunLength(true, false) + between); all > tt.left {
				t.Errorf("they take %v of %v", all, tt.left)
			}
			if again, err := plan.Parse([]byte(q.String())); err != nil ||
				again.Digest() != q.Digest() {
				t.Errorf("read again: %v", err)
			}
			if none, again := p.Within(least-1, between); none != nil || again != least {
				t.Errorf("%v is enough, and least is %v", least-1, again)
			}
		})
	}
}
