package evidence

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/judge/comparison"
	"plimsoll/load/measure"
	"plimsoll/record"
	"plimsoll/watch/series"
)

const classPlan = `
name: n
target: {driver: s}
workload: {behavior: b}
bounded: {users: 5}
compare: {arms: {base: {}, new: {}}}
`

// classRun returns a run with a measured phase of this many seconds, in which posts cost 3 ms and
// views 0.5 ms. together makes the numbers of both rise and fall together.
func classRun(t *testing.T, seconds int, together bool) *record.Run {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	epoch := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	dir := filepath.Join(t.TempDir(), "run")
	w, err := record.Create(dir, record.Manifest{
		ID:    "r",
		Epoch: epoch,
		Plan:  classPlan,
		Phases: []record.Phase{
			{Name: "measure", To: time.Duration(seconds) * time.Second}},
	})
	if err != nil {
		t.Fatal(err)
	}
	db, err := series.Create(filepath.Join(dir, record.SeriesDir))
	if err != nil {
		t.Fatal(err)
	}
	cpu := 0.0
	for s := range seconds + 1 {
		labels := []series.Label{{Name: "role", Value: "app"}}
		if err := db.Append(epoch.Add(time.Duration(s)*time.Second), []series.Sample{{
			Name:   "plimsoll_process_cpu_seconds_total",
			Labels: labels,
			Value:  cpu,
		}}); err != nil {
			t.Fatal(err)
		}
		posts, views := 100+rng.IntN(100), 300+rng.IntN(300)
		if together {
			views = 3 * posts
		}
		var ws []*measure.Window
		for _, op := range []struct {
			name string
			n    int
		}{{"delivery", 1000}, {"post", posts}, {"view", views}} {
			win := measure.NewWindow(op.name)
			win.Classes[measure.OK] = uint64(op.n)
			ws = append(ws, win)
		}
		if err := w.Windows(s, ws); err != nil {
			t.Fatal(err)
		}
		cpu += 0.003*float64(posts) + 0.0005*float64(views)
	}
	return sealed(t, w, db, dir)
}

// TestCostsByClass estimates what a post and another operation cost.
func TestCostsByClass(t *testing.T) {
	read := func(r *record.Run) map[string]comparison.SecondaryValue {
		got, err := new(Catalog).Costs(t.Context())(r)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]comparison.SecondaryValue{}
		for _, v := range got {
			out[v.Name] = v
		}
		return out
	}
	got := read(classRun(t, 40, false))
	for name, want := range map[string]float64{
		"cost(app) of post":             3,
		"cost(app) of other operations": 0.5,
	} {
		if v := got[name]; v.Without != "" || math.Abs(v.Value-want) > 1e-6 || v.Unit != "ms" {
			t.Errorf("%s: %+v, want %v ms", name, v, want)
		}
	}
	if len(got) != 3 {
		t.Errorf("got %v", got)
	}
	for why, r := range map[string]*record.Run{
		"are too few; 20 are needed":        classRun(t, 15, false),
		"rise and fall together: condition": classRun(t, 40, true),
	} {
		got := read(r)
		for _, name := range []string{"cost(app) of post", "cost(app) of other operations"} {
			if v := got[name]; v.Value != 0 || !strings.Contains(v.Without, why) {
				t.Errorf("%s: %+v, want %q", name, v, why)
			}
		}
		if got["cost(app)"].Value == 0 {
			t.Error("the cost of all operations is missing")
		}
	}
}
