package main

import (
	"os"
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	r := report{
		Clients: []client64{
			{Name: "plimsoll", PerCPUSecond: spreadOf([]float64{100_000, 110_000, 90_000})},
			{
				Name:         "wrk",
				PerCPUSecond: spreadOf([]float64{100_000}),
				Ratio:        spreadOf([]float64{0.9, 1, 0.94}),
				Goal:         0.95,
			},
			{Name: "k6", Failure: "not installed | by anyone"},
		},
		Figures: []figure{{
			Name:  "memory",
			Unit:  "KiB",
			Value: spreadOf([]float64{31, 30, 35}),
			Goal:  "<= 40",
			Met:   true,
		}, {Name: "truth", Failure: "no such program"}},
	}
	got := r.markdown()
	for _, want := range []string{
		"| plimsoll | 100,000 (90,000 to 110,000) |  |  |  |", "| wrk | 100,000 (100,000 to 100,000) | 0.94 × (0.90 to 1.00) | >= 0.95 × | MISSED |",
		"| k6 | FAILED: not installed / by anyone | | | |", "| memory | 31.0 KiB (30.0 to 35.0) | <= 40 | met |  |", "| truth | FAILED: no such program |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if r.failed() != 2 {
		t.Errorf("%d failures, want 2", r.failed())
	}
}

// The CPU time of this process grows while it works.
func TestCPUOf(t *testing.T) {
	a, err := cpuOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	x := 1.0
	b := a
	for i := 0; b < a+0.05 && i < 1000; i++ {
		for range 1_000_000 {
			x = x*1.0000001 + 1
		}
		if b, err = cpuOf(os.Getpid()); err != nil {
			t.Fatal(err)
		}
	}
	if b < a+0.05 || x == 0 {
		t.Errorf("%.2f s before, %.2f s after", a, b)
	}
	if _, err := cpuOf(1 << 30); err == nil {
		t.Error("a process that is not there has CPU time")
	}
}
