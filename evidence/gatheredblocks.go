package evidence

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/plan"
	"plimsoll/record"
)

// gatheredBlocks pairs the runs.
func gatheredBlocks(arms gatheredArms, p *plan.Plan) (*record.Comparison, error) {
	first := arms[0].runs[0].Manifest
	c := &record.Comparison{Format: record.FormatVersion, Name: first.Name, Tool: first.Tool,
		Plan: p.String(), PlanDigest: p.Digest(), State: record.Sealed,
		Started: first.Epoch, Engines: gatheredEngines(arms, p)}
	if other := arms[1].runs[0].Manifest; other.Plan == first.Plan {
		c.Plan, c.PlanDigest = first.Plan, cmp.Or(first.PlanDigest, c.PlanDigest)
	}
	for _, a := range p.Compare.Arms {
		c.Arms = append(c.Arms, a.Name)
	}
	if err := gatheredCells(c, arms, p); err != nil {
		return nil, err
	}
	for _, arm := range arms {
		for _, r := range arm.runs {
			lasting(c, r.Manifest)
		}
	}
	p.Compare.Blocks = c.Blocks
	c.Start = startsOf(p, c.Engines)
	inBlocks(c)
	if err := gatheredTurns(c, arms); err != nil {
		return nil, err
	}
	c.ID = gatheredID(c.Runs)
	return c, nil
}

// engineIn returns the engine of a run as the comparison has it: none where the arms, on databases
// of their own, are compared across engines.
func engineIn(p *plan.Plan, m record.Manifest) string {
	if p.OwnDatabases() {
		return ""
	}
	return m.Engine
}

// gatheredEngines returns the engines in the order of the plan, then of the runs.
func gatheredEngines(arms gatheredArms, p *plan.Plan) []string {
	var out []string
	for _, e := range p.Database.Engine {
		if slices.ContainsFunc(arms[0].runs,
			func(r *record.Run) bool { return engineIn(p, r.Manifest) == e }) {
			out = append(out, e)
		}
	}
	for _, r := range arms.runs() {
		if e := engineIn(p, r.Manifest); !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}

// gatheredCells adds the runs of both arms, the nth of each on an engine to its block n. An engine
// with more runs of one arm is an error.
func gatheredCells(c *record.Comparison, arms gatheredArms, p *plan.Plan) error {
	counts := [2]map[string]int{{}, {}}
	for i, arm := range arms {
		for _, r := range arm.runs {
			m := r.Manifest
			digest, err := record.DigestFile(filepath.Join(r.Dir, record.ManifestFile))
			if err != nil {
				return fmt.Errorf("run %s: %w", m.ID, err)
			}
			e := engineIn(p, m)
			counts[i][e]++
			c.Blocks = max(c.Blocks, counts[i][e])
			c.Runs = append(c.Runs,
				record.ComparisonRun{
					Run:    m.ID,
					Digest: digest,
					Block:  counts[i][e],
					Arm:    c.Arms[i],
					Engine: e,
					Valid:  true,
					Began:  m.Epoch,
				})
		}
	}
	for _, e := range c.Engines {
		if x, y := counts[0][e], counts[1][e]; x != y {
			if e != "" {
				e = " on " + e
			}
			return fmt.Errorf("%d runs by -base and %d by -new%s: want pairs, one run of each arm",
				x, y, e)
		}
	}
	return nil
}

// lasting extends the time of the comparison to that of a run.
func lasting(c *record.Comparison, m record.Manifest) {
	if m.Epoch.Before(c.Started) {
		c.Started = m.Epoch
	}
	for _, ph := range m.Phases {
		if end := m.Epoch.Add(ph.To); end.After(c.Ended) {
			c.Ended = end
		}
	}
}

// gatheredID returns the name of a comparison of these runs, in whatever order.
func gatheredID(runs []record.ComparisonRun) string {
	var digests []string
	for _, r := range runs {
		digests = append(digests, r.Digest)
	}
	slices.Sort(digests)
	sum := sha256.Sum256([]byte(strings.Join(digests, "\n")))
	return fmt.Sprintf("gathered-%x", sum[:6])
}

// startsOf returns the users with which the searches on engines begin; the start that a pilot found
// is not in the runs.
func startsOf(p *plan.Plan, engines []string) map[string]int {
	if p.Unbounded == nil {
		return nil
	}
	out := map[string]int{}
	for _, e := range engines {
		if n, ok := p.Unbounded.Start.For(e); ok {
			out[e] = n
		}
	}
	return out
}

// inBlocks orders the runs by block and time, and numbers them within each block.
func inBlocks(c *record.Comparison) {
	slices.SortStableFunc(c.Runs, func(a, b record.ComparisonRun) int {
		return cmp.Or(
			cmp.Compare(a.Block, b.Block),
			a.Began.Compare(b.Began),
			cmp.Compare(a.Run, b.Run),
		)
	})
	for i := range c.Runs {
		c.Runs[i].Order = 1
		if i > 0 && c.Runs[i-1].Block == c.Runs[i].Block {
			c.Runs[i].Order = c.Runs[i-1].Order + 1
		}
	}
}

// gatheredTurns makes the comparison a duet when its runs took turns: all of them, within their
// blocks.
func gatheredTurns(c *record.Comparison, arms gatheredArms) error {
	made := map[string]record.Manifest{}
	turns := 0
	for _, r := range arms.runs() {
		made[r.Manifest.ID] = r.Manifest
		if r.Manifest.Duet != nil {
			turns++
		}
	}
	if turns == 0 {
		return nil
	}
	if turns < len(c.Runs) {
		return fmt.Errorf(
			"%d of %d runs took turns with others (compare.mode: duet), and the rest ran alone: "+
				"they are no pairs",
			turns,
			len(c.Runs),
		)
	}
	first := map[int]record.Manifest{}
	for _, cell := range c.Runs {
		m := made[cell.Run]
		x, known := first[cell.Block]
		if known && (x.Comparison != m.Comparison || x.Block != m.Block) {
			return fmt.Errorf(
				"runs %s and %s took turns with other runs, not with each other: "+
					"give both runs of each block of the duet",
				x.ID,
				m.ID,
			)
		}
		first[cell.Block] = m
	}
	c.Mode, c.Slice = plan.ModeDuet, arms[0].plan.Compare.Slice
	return nil
}
