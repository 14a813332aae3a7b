package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/record"
	"plimsoll/target/lab/netns"
)

// A tally is the counts of one run, by row.
type tally map[string]float64

// wholeRun is later than the end of every run.
const wholeRun = 24 * time.Hour

// Rows of a tally that are no operations.
const (
	expected   = "deliveries expected"
	seen       = "deliveries seen"
	late       = "deliveries late"
	lost       = "deliveries lost"
	duplicated = "deliveries duplicated"
	misordered = "deliveries misordered"
	accepted   = "messages accepted"
	timed      = "deliveries timed"
)

// exact are the rows that the wall clock does not decide: all runs must have the same.
var exact = []string{lost, duplicated}

// tallyOf reads the counts of a whole run: operations by name and class, and messages.
func tallyOf(r *record.Run) (tally, error) {
	ws, err := r.Merged(0, wholeRun)
	if err != nil {
		return nil, err
	}
	t := tally{}
	for name, w := range ws {
		if name == workload.Delivery {
			t[timed] = float64(w.Count())
			continue
		}
		if !workload.Beyond(name) && name != workload.Schedule {
			for c, n := range w.Classes {
				if n > 0 {
					t[name+" "+measure.Class(c).String()] = float64(n)
				}
			}
		}
	}
	u, err := r.Users()
	if err != nil {
		return nil, err
	}
	if u == nil {
		return nil, fmt.Errorf("the run %s has no account of its users", r.Manifest.ID)
	}
	c := u.Whole
	for name, n := range map[string]int64{
		accepted: c.Acked, expected: c.Expected(), seen: c.Seen, late: c.Late, lost: c.Lost,
		duplicated: c.Duplicated, misordered: c.Misordered,
	} {
		t[name] = float64(n)
	}
	return t, nil
}

// A row compares the counts of one kind.
type row struct {
	name  string
	one   []float64 // of the runs of one process
	fleet float64
	// within is by how much the fleet's count may differ from the mean of one process.
	within float64
}

func (r row) mean() float64 {
	sum := 0.0
	for _, v := range r.one {
		sum += v
	}
	return sum / float64(len(r.one))
}

// difference is the fleet's count less the mean of one process.
func (r row) difference() float64 { return r.fleet - r.mean() }

// apart reports whether the counts differ by more than the wall clock explains.
func (r row) apart() bool { return math.Abs(r.difference()) > r.within }

// sigmas is by how many standard errors a count may differ: among a hundred rows one is beyond them
// by chance in a hundred comparisons or fewer.
const sigmas = 4

// compare returns a row for each count that a run has.
//
// The seed fixes the actions of every user, their order and their think times; the wall clock
// decides how many of them fall into the time of the run, because a user goes on when the server
// has answered, and what a user sees when it looks. So runs of one process differ, too, and are the
// yardstick: their variance in relation to the mean, pooled over all rows, is the unit of every
// row. Of the rows of deliveries each post counts once, for it brings as many of them as it has
// recipients. A row's counts may be apart by four standard errors of that, by as much as the runs
// of one process are in this row, or by one. Rows in exact may not differ at all.
func compare(ones []tally, fleet tally) []row {
	names := map[string]bool{}
	for _, t := range append(slices.Clone(ones), fleet) {
		for name := range t {
			names[name] = true
		}
	}
	var rows []row
	variance, freedom := 0.0, 0.0
	for name := range names {
		r := row{name: name, fleet: fleet[name]}
		for _, t := range ones {
			r.one = append(r.one, t[name])
		}
		rows = append(rows, r)
		if m := r.mean(); m > 0 && !slices.Contains(exact, name) {
			for _, v := range r.one {
				variance += (v - m) * (v - m) / (m * weight(name, ones))
			}
			freedom += float64(len(r.one) - 1)
		}
	}
	unit := 0.0
	if freedom > 0 {
		unit = variance / freedom
	}
	for i := range rows {
		r := &rows[i]
		if slices.Contains(exact, r.name) {
			continue
		}
		n := float64(len(r.one))
		chance := sigmas * math.Sqrt(unit*weight(r.name, ones)*max(r.mean(), 1)*(1+1/n))
		r.within = max(1, chance, slices.Max(r.one)-slices.Min(r.one))
	}
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.name, b.name) })
	return rows
}

// weight is how many counts of a row one post brings.
func weight(name string, ones []tally) float64 {
	if !strings.HasPrefix(name, "deliver") && !strings.HasPrefix(name, workload.Inbox) {
		return 1
	}
	posts, deliveries := 0.0, 0.0
	for _, t := range ones {
		posts, deliveries = posts+t[accepted], deliveries+t[expected]
	}
	if posts == 0 {
		return 1
	}
	return max(1, deliveries/posts)
}

// table writes the rows, and returns the names of those that are apart.
func table(w io.Writer, rows []row) (apart []string, err error) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	plain.Fprintf(tw, "count\tone process\tfleet\tdifference\twithin\t\t\n")
	for _, r := range rows {
		var one []string
		for _, v := range r.one {
			one = append(one, fmt.Sprintf("%.0f", v))
		}
		mark := ""
		if r.apart() {
			mark = "APART"
			apart = append(apart, r.name)
		}
		plain.Fprintf(
			tw,
			"%s\t%s\t%.0f\t%+.1f\t%.1f\t%s\t\n",
			r.name,
			strings.Join(one, " / "),
			r.fleet,
			r.difference(),
			r.within,
			mark,
		)
	}
	return apart, tw.Flush()
}

// counts is the scene: the plan in one process, some times, and on agents.
func counts(ctx context.Context, st *stage) error {
	var ones []tally
	for k := range st.yardsticks {
		_, t, err := st.tally(ctx, fmt.Sprintf("one-%d", k), "", st.Host(agentHost(0)))
		if err != nil {
			return err
		}
		ones = append(ones, t)
	}
	if err := st.join(ctx); err != nil {
		return err
	}
	of, fleet, err := st.tally(ctx, "of-fleet", st.placement(), st.Side)
	if err != nil {
		return err
	}
	why, left := untimed(of)
	fleet[timed] += left
	fmt.Printf(
		"%d users of seed %d over %v, in one process and on %d hosts with %d agents of %d processes each\n\n",
		st.users,
		st.seed,
		st.ramp+st.settle+st.measure,
		st.hosts,
		st.show.agents,
		st.processes,
	)
	apart, err := table(os.Stdout, compare(ones, fleet))
	if err != nil {
		return err
	}
	if why != "" {
		fmt.Printf(
			"\nOf the agents' deliveries timed, %.0f are not in the latency, by the rule of clocks: %s\n",
			left,
			why,
		)
	}
	if len(apart) > 0 {
		return fmt.Errorf(
			"counts differ by more than the wall clock explains: %s",
			strings.Join(apart, ", "),
		)
	}
	fmt.Println("\nNo count differs by more than the wall clock explains.")
	return nil
}

// tally carries out the plan with a placement, and returns the run's counts.
func (st *stage) tally(
	ctx context.Context,
	name, placement string,
	in *netns.Namespace,
) (*record.Run, tally, error) {
	began := time.Now()
	r, err := st.carry(ctx, name, st.plan(st.url(), placement), in)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range r.Validity.Findings {
		if f.Level == record.Red {
			fmt.Fprintf(
				os.Stderr,
				"fleetshow: %s is not valid, its counts are compared all the same: %s: %s\n",
				name,
				f.Gate,
				f.Text,
			)
		}
	}
	fmt.Fprintf(os.Stderr, "fleetshow: %s took %v\n", name, time.Since(began).Round(time.Second))
	t, err := tallyOf(r)
	return r, t, err
}

// leftOut finds the number of deliveries that the rule of clocks has left out of the latency.
var leftOut = regexp.MustCompile(`not in the latency, in all (\d+);`)

// untimed says why deliveries between hosts are not in the latency of a run, and how many; "" if
// they are.
func untimed(r *record.Run) (why string, n float64) {
	for _, f := range r.Validity.Findings {
		if m := leftOut.FindStringSubmatch(f.Text); m != nil && f.Gate == "clock" {
			n, _ = strconv.ParseFloat(m[1], 64) // digits
			return f.Text, n
		}
	}
	return "", 0
}
