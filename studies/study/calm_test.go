package study

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A host is calm after five quiet readings in a row, and one that never is makes an error at the
// deadline.
func TestCalm(t *testing.T) {
	for name, tt := range map[string]struct {
		busy time.Duration // how long others use half of a core of two
		most float64
		want time.Duration
		err  string
	}{
		"at once":      {0, 0.1, calmReadings * calmEvery, ""},
		"after a job":  {61 * time.Second, 0.1, 72 * time.Second, ""},
		"not for long": {time.Second, 1, calmEvery, ""},
		"never":        {time.Hour, 0.1, 0, "still use 26 % of its cores after 5m0s; want less than 10 %"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				used, waited, err := Calm(
					t.Context(),
					tt.most,
					5*time.Minute,
					func() (Load, error) {
						passed := time.Since(began)
						return Load{
							min(passed, tt.busy).Seconds() / 2,
							passed.Seconds() / 50,
							2 * passed.Seconds(),
						}, nil
					},
				)
				if tt.err != "" {
					if err == nil || !strings.Contains(err.Error(), tt.err) {
						t.Fatalf("%v, want %q", err, tt.err)
					}
					return
				}
				if err != nil || waited != tt.want || used > 0.26 {
					t.Errorf("%.4f used after %v, %v; want it after %v", used, waited, err, tt.want)
				}
			})
		})
	}
}

// The load of this host grows with its time, and contains what was used.
func TestReadLoad(t *testing.T) {
	was, err := ReadLoad()
	if err != nil {
		t.Fatal(err)
	}
	if was.Used <= 0 || was.All < was.Used {
		t.Errorf("%+v", was)
	}
	if share := (Load{was.Used + 2, was.Stolen + 1, was.All + 10}).Since(was, 1); share < 0.199 ||
		share > 0.201 {
		t.Errorf("2 of 10 seconds are %.3f", share)
	}
}
