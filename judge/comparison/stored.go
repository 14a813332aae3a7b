package comparison

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/plan"
	"plimsoll/record"
)

// A Load returns a run of a comparison.
type Load func(id string) (*record.Run, error)

// ErrAltered reports a comparison or a run that was changed after it was recorded.
var ErrAltered = record.ErrAltered

// CheckPlan checks that p, parsed from the text that is stored with a comparison, is the plan of
// that comparison. The error wraps [ErrAltered] when the digest of the text differs from the
// recorded one, or when arms, databases, mode, blocks, budget or looks differ from the plan's.
func CheckPlan(c *record.Comparison, p *plan.Plan) error {
	if what := notOfPlan(c, p); what != "" {
		return fmt.Errorf(
			"comparison %s %w: %s; bring comparison.json back as it was, or repeat the comparison",
			c.ID,
			ErrAltered,
			what,
		)
	}
	return nil
}

// Resumable returns the reason why a version of the program, whose digest is build, cannot
// go on with a comparison by a plan: it is complete, plan or program are others than at its
// beginning, or a run of it cannot be read or was changed. It returns nil if the comparison can go
// on.
func Resumable(
	c *record.Comparison,
	p *plan.Plan,
	tool, build string,
	load Load,
) error {
	switch {
	case c.State == record.Sealed:
		return fmt.Errorf(
			"comparison %s is complete: there is nothing to resume; plimsoll report %s renders it again",
			c.ID,
			c.ID,
		)
	case c.Tool != tool:
		return fmt.Errorf(
			"comparison %s began with plimsoll %s, and this is %s: go on with that version, or begin a new comparison",
			c.ID,
			c.Tool,
			tool,
		)
	case c.Build != build:
		return fmt.Errorf(
			"comparison %s began with another build of plimsoll %s (%s, this is %s): go on with that binary, or begin a new comparison",
			c.ID,
			c.Tool,
			shortDigest(c.Build),
			shortDigest(build),
		)
	case c.PlanDigest != p.Digest():
		return fmt.Errorf(
			"comparison %s began with the plan %s, and this one is %s: leave the plan out to go on with the one that it began with, or begin a new comparison",
			c.ID,
			c.PlanDigest,
			p.Digest(),
		)
	}
	if what := notOfPlan(c, p); what != "" {
		return fmt.Errorf(
			"comparison %s %w: %s; bring comparison.json back as it was, or begin a new comparison",
			c.ID,
			ErrAltered,
			what,
		)
	}
	for _, run := range c.Runs {
		if run.Cut {
			continue // it is not judged
		}
		if err := intact(c, run, load); err != nil {
			return fmt.Errorf(
				"comparison %s: run %s (%s) %w; bring it back as it was, or begin a new comparison",
				c.ID,
				run.Run,
				CellName(run),
				err,
			)
		}
	}
	return nil
}

func shortDigest(s string) string {
	s = strings.TrimPrefix(s, "sha256:")
	if s == "" {
		return "unknown"
	}
	return s[:min(12, len(s))]
}

// CellName writes the place of a run in its comparison.
func CellName(run record.ComparisonRun) string {
	what := fmt.Sprintf("block %d, run %d", run.Block, run.Order)
	if run.Pilot {
		what = "pilot"
	}
	if run.Engine != "" {
		return what + ", " + run.Arm + " on " + run.Engine
	}
	return what + ", " + run.Arm
}

// intact returns an error if a recorded run is not the one in the store.
func intact(
	c *record.Comparison,
	run record.ComparisonRun,
	load Load,
) error {
	r, err := load(run.Run)
	if err != nil {
		return fmt.Errorf("cannot be read: %w", err)
	}
	if err := unaltered(r, run.Digest, r.Verify); err != nil {
		return err
	}
	return played(c, run, r)
}

// notOfPlan names the first member of a comparison that is not as its plan has it.
func notOfPlan(c *record.Comparison, p *plan.Plan) string {
	sum := sha256.Sum256([]byte(c.Plan))
	switch have := "sha256:" + hex.EncodeToString(sum[:]); {
	case have != c.PlanDigest:
		return fmt.Sprintf(
			"its plan has the digest %s, and plan_digest is %s",
			shortDigest(have),
			shortDigest(c.PlanDigest),
		)
	case p.Compare == nil:
		return "its plan has no section compare"
	case !slices.Equal(c.Arms, ArmNames(p)):
		return fmt.Sprintf("arms are %q, in its plan %q", c.Arms, ArmNames(p))
	case !slices.Equal(c.Engines, Engines(p)):
		return fmt.Sprintf("engines are %q, in its plan %q", c.Engines, Engines(p))
	case p.Compare.Mode != "" && p.Compare.Mode != cmp.Or(c.Mode, plan.ModeSequence):
		return fmt.Sprintf("mode is %q, in its plan %q", c.Mode, p.Compare.Mode)
	case c.InTurns() && c.Slice != p.Compare.Slice:
		return fmt.Sprintf("slice is %v, in its plan %v", c.Slice, p.Compare.Slice)
	case c.Blocks != p.Compare.Blocks:
		return fmt.Sprintf("blocks is %d, in its plan %d", c.Blocks, p.Compare.Blocks)
	}
	if c.Budget != p.Compare.Budget {
		return fmt.Sprintf("budget is %v, in its plan %v", c.Budget, p.Compare.Budget)
	}
	looks := PlannedLooks(p)
	if len(c.Looks) != len(looks) {
		return fmt.Sprintf("it has %d looks, its plan %d", len(c.Looks), len(looks))
	}
	for i, l := range looks {
		if c.Looks[i].Blocks != l.Blocks || c.Looks[i].Alpha != l.Alpha {
			return fmt.Sprintf(
				"look %d is after %d blocks at the level %v, in its plan after %d at %v",
				i+1,
				c.Looks[i].Blocks,
				c.Looks[i].Alpha,
				l.Blocks,
				l.Alpha,
			)
		}
	}
	return ""
}

// unaltered returns an error if a run is not the one whose manifest had this digest.
func unaltered(r *record.Run, digest string, verify func() (changed []string, err error)) error {
	have, err := record.DigestFile(filepath.Join(r.Dir, record.ManifestFile))
	if err != nil {
		return fmt.Errorf("cannot be read: %w", err)
	}
	if have != digest {
		return fmt.Errorf(
			"%w: its manifest has the digest %s, and %s was recorded",
			ErrAltered,
			shortDigest(have),
			shortDigest(digest),
		)
	}
	changed, err := verify()
	if err != nil {
		return fmt.Errorf("cannot be read: %w", err)
	}
	if len(changed) > 0 {
		return fmt.Errorf(
			"%w: %s changed since it was sealed",
			ErrAltered,
			strings.Join(changed, ", "),
		)
	}
	return nil
}

// played returns an error if a run was not made for this comparison: the sealed manifest of each
// run holds the plan, and the part that the run played. An edit of the plan of a comparison, and of
// its digests, has to change each of these too.
func played(c *record.Comparison, cell record.ComparisonRun, r *record.Run) error {
	m := r.Manifest
	what := ""
	switch {
	case m.PlanDigest != "" && m.PlanDigest != c.PlanDigest:
		what = "it was made by another plan than the comparison has now" + difference(
			m.Plan,
			c.Plan,
		)
	case m.Comparison != "" && m.Comparison != c.ID:
		what = "it was made for " + m.Comparison
	case m.Arm != "" && m.Arm != cell.Arm:
		what = "it is of the arm " + m.Arm
	case cell.Engine != "" && m.Engine != "" && m.Engine != cell.Engine:
		what = "it is on " + m.Engine
	case m.Block != 0 && (m.Block != cell.Block || m.Order != cell.Order):
		what = fmt.Sprintf("it is run %d of block %d", m.Order, m.Block)
	case m.Pilot && !cell.Pilot:
		what = "it is a pilot"
	case m.Duet != nil && !c.InTurns():
		what = "it took turns with other runs, and comparison.json has no duet"
	case cell.Valid && !r.Validity.Valid:
		what = "it is not valid, and comparison.json calls it valid"
	case m.InDigests && c.Undigested:
		what = "comparison.json has lost the digests that it was written with"
	default:
		return nil
	}
	return fmt.Errorf("%w: %s", ErrAltered, what)
}

// difference shows the first line that differs in two plans; empty when one of them is not known.
func difference(made, now string) string {
	n, x, y, differ := FirstDifference(made, now)
	if made == "" || now == "" || !differ {
		return ""
	}
	return fmt.Sprintf(": line %d of the plan is %s, and it was %s", n, y, x)
}

// FirstDifference returns the first line that differs in two plans, from 1, and its text in each of
// them; "nothing" where one has no such line.
func FirstDifference(a, b string) (n int, x, y string, differ bool) {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	line := func(lines []string, i int) string {
		if i >= len(lines) || lines[i] == "" {
			return "nothing"
		}
		return record.QuoteImported(strings.TrimSpace(lines[i]))
	}
	for i := range max(len(as), len(bs)) {
		if i >= len(as) || i >= len(bs) || as[i] != bs[i] {
			return i + 1, line(as, i), line(bs, i), true
		}
	}
	return 0, "", "", false
}

// Loader returns load for the runs of a comparison, which refuses those whose numbers were changed,
// or that were made for another plan or another part: the error wraps [ErrAltered]. Pilots, and
// runs of a block that was cut, are held against their own digests alone, and marked as changed
// where they do not fit ([record.Run.Distrust]): nothing rests on them. Of a comparison that was
// gathered from stored runs only the digests are held against the runs.
func Loader(
	c *record.Comparison,
	load Load,
) func(id string) (*record.Run, error) {
	cells := map[string]record.ComparisonRun{}
	for _, cell := range c.Runs {
		cells[cell.Run] = cell
	}
	return func(id string) (*record.Run, error) {
		r, err := load(id)
		cell, ok := cells[id]
		switch {
		case !ok:
			return r, err
		case cell.Cut || cell.Pilot:
			if err == nil {
				err = r.Look()
			}
			return r, err
		case err != nil:
			err = fmt.Errorf("%w: %w", ErrAltered, err)
		default:
			err = unaltered(r, cell.Digest, r.VerifyNumbers)
			// else the runs were made for no comparison, or for another one
			if err == nil && c.Gathered == nil {
				err = played(c, cell, r)
			}
		}
		if err != nil {
			return nil, fmt.Errorf(
				"run %s (%s) %w; bring it back as it was, or repeat the comparison",
				id,
				CellName(cell),
				err,
			)
		}
		return r, nil
	}
}
