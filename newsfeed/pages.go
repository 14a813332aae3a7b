package newsfeed

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/dialect"
	"plimsoll/newsfeed/study"
)

// pages is the chapter that sets a comparison beside the published study. It is made of bounded
// tests in a closed loop alone, as the study's were.
func pages(ctx context.Context, c dialect.Compared) ([]dialect.Supplement, error) {
	if w := c.Plan.Workload; w.Behavior != Name || c.Plan.Bounded == nil || w.Arrival != nil {
		return nil, nil
	}
	var set study.Setting
	var runs []study.RunFigures
	for _, arm := range c.Arms {
		a := study.StudiedArm{Name: arm.Name, Label: arm.Label}
		for _, r := range arm.Runs {
			x, ok, err := study.Read(r)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			if x.Shares, err = storeShares(ctx, r); err != nil {
				return nil, fmt.Errorf("run %s: %w", r.ID, err)
			}
			x.Arm = arm.Name
			runs = append(runs, x)
			if d := r.Deployed; d != nil && a.Server == "" {
				a.Variant, a.Server = study.Variant{Engine: d.Engine, Network: d.Network}, d.Server
				if a.Network == "" {
					a.Network = "none"
				}
				set.Stores = storesText(d.Companions)
			}
		}
		set.Arms = append(set.Arms, a)
	}
	if len(runs) == 0 {
		return nil, nil
	}
	return []dialect.Supplement{study.Compare(set, runs)}, nil
}

// storesText names the program behind each store beside the database.
func storesText(companions map[string]string) string {
	var parts []string
	for _, role := range slices.Sorted(maps.Keys(companions)) {
		parts = append(parts, role+": "+companions[role])
	}
	return strings.Join(parts, "; ")
}

// storeShares is which part of the service's time for requests its calls to each store took in the
// measured phase. The bus is behind the requests and has none.
func storeShares(ctx context.Context, r dialect.JudgedRun) (map[string]float64, error) {
	span := (r.To - r.From).Round(time.Second).String()
	answers, err := r.Query(ctx, `sum(increase(newsfeed_request_seconds_sum[`+span+`]))`,
		`sum by (store) (increase(newsfeed_store_seconds_sum{store!="bus"}[`+span+`]))`)
	if err != nil {
		return nil, err
	}
	whole, parts := answers[0], answers[1]
	if len(whole) != 1 || !(whole[0].Value > 0) {
		return nil, nil
	}
	out := map[string]float64{}
	for _, x := range parts {
		if v := x.Value / whole[0].Value; v > 0 && !math.IsInf(v, 0) {
			out[x.Labels["store"]] = v
		}
	}
	return out, nil
}
