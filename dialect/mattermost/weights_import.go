package mattermost

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// CallsQuery returns the query for a production server's Prometheus: calls per second by handler,
// over a window such as "2h".
func CallsQuery(window string) string {
	return fmt.Sprintf("sum by (handler) (rate(mattermost_api_time_count[%s]))", window)
}

// createPostHandler is the unit of all weights.
const createPostHandler = "createPost"

// ImportWeights turns the calls per second of a server's handlers into weights of actions,
// create_post being 1. It is the method of mattermost-load-test-ng's docs/coverage-frequency.md,
// refined where one action makes several calls or several actions share a handler. An action whose
// handlers were not called weighs 0; kept lists the actions without a handler, which have their
// default weight. unmapped lists the handlers that stand for no action, the most called first:
// calls that come with actions, and calls that are not modeled.
func ImportWeights(
	rates map[string]float64,
) (weights map[string]float64, kept, unmapped []string, err error) {
	unit := rates[createPostHandler]
	for handler, x := range rates {
		if math.IsNaN(x) || math.IsInf(x, 0) || x < 0 {
			return nil, nil, nil, fmt.Errorf(
				"the rate of handler %s is %v; want a number of calls per second",
				handler,
				x,
			)
		}
	}
	if unit <= 0 {
		return nil, nil, nil, fmt.Errorf(
			"handler %s was not called in the window, and every weight is relative to it; choose a busier time",
			createPostHandler,
		)
	}
	weights = map[string]float64{}
	used := map[string]bool{}
	for i := range actions {
		a := &actions[i]
		if a.weight == 0 { // switched on by hand alone
			continue
		}
		if a.handlers == "" {
			weights[a.name] = a.weight
			kept = append(kept, a.name)
			continue
		}
		sum := 0.0
		for h := range strings.FieldsSeq(a.handlers) {
			h, part := strings.CutPrefix(h, "-")
			used[h] = true
			if part {
				sum -= rates[h]
			} else {
				sum += rates[h]
			}
		}
		total := 0.0
		for k := range actions {
			if actions[k].handlers == a.handlers {
				total += actions[k].weight
			}
		}
		weights[a.name] = round4(max(sum, 0) / unit / a.calls * (a.weight / total))
	}
	for _, h := range slices.Sorted(maps.Keys(rates)) {
		if !used[h] && rates[h] > 0 {
			unmapped = append(unmapped, h)
		}
	}
	slices.SortStableFunc(unmapped, func(a, b string) int {
		return cmp.Compare(rates[b], rates[a])
	})
	return weights, kept, unmapped, nil
}

// round4 keeps four significant digits: more than a rate over hours has.
func round4(x float64) float64 {
	if x == 0 {
		return 0
	}
	scale := math.Pow(10, 4-math.Ceil(math.Log10(x)))
	return math.Round(x*scale) / scale
}
