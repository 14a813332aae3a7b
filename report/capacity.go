package report

import (
	"fmt"
	"slices"
	"strconv"

	"plimsoll/judge/verdict"
	"plimsoll/record"
	"plimsoll/stats"
)

// capacities fills the supported users, pooled and per block.
func (b *builder) capacities() {
	d := b.Document
	any := false
	for _, e := range d.Engines {
		c := EngineCapacity{Engine: e.Key}
		for _, a := range d.Arms {
			cell := ArmCell{Arm: a.Name, Users: unknown, Lo: unknown, Hi: unknown}
			for _, f := range d.Verdicts {
				r, ok := resultOf(f.Verdict, capacityName)
				if !ok || f.Engine != e.Key || !a.Base && f.Arm != a.Name {
					continue
				}
				s := r.New
				if a.Base {
					s = r.Base
				} else {
					cell.Delta = deltaOf(r)
				}
				cell.Runs = s.N
				cell.Users = Number(s.Mean)
				cell.Lo = Number(s.Lo)
				cell.Hi = Number(s.Hi)
				cell.AtLeast = s.AtLeast

				any = any || cell.Users.Known()
				break
			}
			for _, f := range d.Databases {
				r, ok := resultOf(f.Verdict, capacityName)
				if ok && f.Engine == e.Key && f.Arm == a.Name {
					cell.ByDatabase = deltaOf(r)
				}
			}
			c.Cells = append(c.Cells, cell)
		}
		d.Capacity = append(d.Capacity, c)
	}
	if !any {
		d.Capacity = nil
		return
	}
	var numbers []int
	for _, r := range b.judged {
		if r.Manifest.Capacity != nil && !slices.Contains(numbers, r.Cell.Block) {
			numbers = append(numbers, r.Cell.Block)
		}
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		block := Block{Block: n}
		for _, e := range d.Engines {
			row := make([]RunCell, len(d.Arms))
			for i, a := range d.Arms {
				row[i] = b.runCell(n, e.Key, a.Name)
			}
			block.Users = append(block.Users, row)
		}
		d.Blocks = append(d.Blocks, block)
	}
}

func (b *builder) runCell(block int, engine, arm string) RunCell {
	for _, r := range b.of(engine, arm) {
		c := r.Manifest.Capacity
		if r.Cell.Block != block || c == nil || c.Kind == record.Invalid {
			continue
		}
		if c.Kind == record.Unstable {
			return RunCell{Run: r.Cell.Run, Users: unknown, Unstable: true}
		}
		return RunCell{Run: r.Cell.Run, Users: Number(c.Users), AtLeast: isBound(c)}
	}
	return RunCell{Users: unknown}
}

// isBound reports whether a capacity is a lower bound. Every kind that is neither marked as an
// estimate nor without a number counts as a bound.
func isBound(c *record.Capacity) bool {
	return c.Kind != record.Estimate && c.Kind != record.Unstable && c.Kind != record.Invalid
}

// ratio returns the difference of two capacities as far as it is known; nil if one is missing.
func ratio(base, fresh RunCell) *Delta {
	if !base.Users.Known() || !fresh.Users.Known() || base.Users <= 0 {
		return nil
	}
	d := &Delta{Value: fresh.Users/base.Users - 1, Lo: unknown, Hi: unknown}
	switch {
	case base.AtLeast && fresh.AtLeast:
		d.Value = unknown
	case base.AtLeast:
		d.Bound = "<="
	case fresh.AtLeast:
		d.Bound = ">="
	}
	return d
}

// deltaLabel names the rows that compare an engine with the first.
func (d Document) deltaLabel(engine string) string {
	return fmt.Sprintf("Delta (%s against %s)", d.engineLabel(engine), d.Engines[0].Label)
}

// capacityHead is the head of both tables of supported users, after its first columns.
func (d Document) capacityHead(first ...string) *table {
	head := first
	for _, a := range d.Arms {
		head = append(head, ">"+a.Label)
		if !a.Base {
			head = append(head, ">"+d.deltaHead(a))
		}
	}
	return newTable(head...)
}

func (d Document) deltaHead(a ArmLabel) string {
	if len(d.Arms) > 2 {
		return "Delta " + a.Label
	}
	return "Delta"
}

// capacityLevel names the level of the intervals of supported users.
func (d Document) capacityLevel() string {
	for _, f := range d.Verdicts {
		if r, ok := resultOf(f.Verdict, capacityName); ok {
			return verdict.LevelText(1 - r.Alpha)
		}
	}
	return verdict.LevelText(1 - stats.FixedAlpha)
}

func (d Document) capacitySections() []section {
	if len(d.Capacity) == 0 {
		return nil
	}
	pooled := d.capacityHead("Test")
	for _, c := range d.Capacity {
		row := []string{test(d.engineLabel(c.Engine))}
		for i, cell := range c.Cells {
			row = append(row, cell.users())
			if !d.Arms[i].Base {
				row = append(row, cell.Delta.text())
			}
		}
		pooled.add(row)
	}
	for _, c := range d.Capacity[1:] {
		row := []string{d.deltaLabel(c.Engine)}
		for i, cell := range c.Cells {
			row = append(row, cell.ByDatabase.text())
			if !d.Arms[i].Base {
				row = append(row, "")
			}
		}
		pooled.add(row)
	}
	out := pooled.section("Supported users in unbounded tests",
		"Geometric means over the judged runs. In brackets the "+d.capacityLevel()+" interval; a difference is judged from the pairs of runs within blocks, not from the intervals of the arms.")
	if d.Protocol != nil && d.Protocol.Duet != nil {
		out[0].Notes.say("Each number was " + record.InTurns + ".")
	}
	if len(d.Blocks) == 0 {
		return out
	}
	per := d.capacityHead("Block", "Test")
	for _, b := range d.Blocks {
		for i, cells := range b.Users {
			per.add(d.blockRow(b.Block, test(d.Engines[i].Label), cells))
		}
		for i := range b.Users[min(1, len(b.Users)):] {
			row := []string{strconv.Itoa(b.Block), d.deltaLabel(d.Engines[i+1].Key)}
			for k := range d.Arms {
				row = append(row, ratio(b.Users[0][k], b.Users[i+1][k]).text())
				if !d.Arms[k].Base {
					row = append(row, "")
				}
			}
			per.add(row)
		}
	}
	return append(out, per.section("Supported users by block")...)
}

func (d Document) blockRow(block int, name string, cells []RunCell) []string {
	row := []string{strconv.Itoa(block), name}
	for k, c := range cells {
		row = append(row, c.users())
		if !d.Arms[k].Base {
			row = append(row, ratio(cells[0], c).text())
		}
	}
	return row
}

// users writes supported users with their interval: "1204 [1180, 1230]".
func (c ArmCell) users() string {
	if c.AtLeast || !c.Users.Known() || !c.Lo.Known() || !c.Hi.Known() {
		return RunCell{Users: c.Users, AtLeast: c.AtLeast}.users()
	}
	return fmt.Sprintf("%.0f [%.0f, %.0f]", c.Users, c.Lo, c.Hi)
}

func (c RunCell) users() string {
	switch {
	case c.Unstable:
		return "unstable"
	case !c.Users.Known():
		return dash
	case c.AtLeast:
		return ">= " + fixed(c.Users, 0)
	default:
		return fixed(c.Users, 0)
	}
}
