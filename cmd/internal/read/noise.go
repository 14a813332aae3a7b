package read

import (
	"plimsoll/cmd/internal/app"
	"plimsoll/evidence"
	"plimsoll/internal/plain"
	"plimsoll/record/store"
)

// listNoise prints the noise floors of a store.
func listNoise(a *app.App, st *store.Store, asJSON bool) error {
	lines, warnings, err := st.AA()
	if err != nil {
		return err
	}
	for _, w := range warnings {
		a.Tellf("plimsoll ls: %v\n", w)
	}
	rows := evidence.NoiseFloors(lines)
	if asJSON {
		return a.JSON(rows)
	}
	if err := evidence.WriteNoise(a.Stdout, rows); err != nil || len(rows) > 0 {
		return err
	}
	_, err = plain.Fprintf(
		a.Stderr,
		"plimsoll ls: no comparison of a build with itself is in this store; plimsoll compare -aa PLAN.yaml makes one\n",
	)
	return err
}
