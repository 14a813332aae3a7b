package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/record"
)

// again describes the repetition of the block.
func (v Voided) again() string {
	if v.Cost {
		v.Cost = false
		return v.again() + "; what its operations cost in CPU time is judged"
	}
	switch {
	case !v.Repeated:
		return "it was not run again"
	case v.Missing:
		return "it was run again, and was not valid then either"
	}
	return "it was run again"
}

// runs fills the validity table and the voided blocks.
func (b *builder) runs() {
	data := map[string]RunData{}
	for _, r := range b.in.Runs {
		data[r.Cell.Run] = r
	}
	good := map[int]int{}
	tries := map[int]int{}
	disturbed := b.c.Disturbed()
	for _, c := range b.c.Runs {
		r := RunRow{ID: c.Run, Digest: c.Digest, Block: c.Block, Order: c.Order, Arm: c.Arm,
			Engine: c.Engine, Valid: c.Valid, Why: c.Why}
		if have, ok := data[c.Run]; ok {
			r.Finding = have.Validity.Findings
		} else if r.Why == "" {
			r.Why = "its files were not read"
		}
		switch {
		case c.Pilot:
			r.Part = "pilot"
		case c.Cut:
			r.Part = "cut"
		case c.Dropped:
			r.Part = "voided"
			if c.Order == 1 {
				tries[c.Block]++
			}
			v := oneOf(&b.Voided, func(v Voided) bool { return v.Block == c.Block },
				Voided{Block: c.Block})
			v.Runs, v.Cost = append(v.Runs, c.Run), v.Cost || disturbed[c.Run]
			if !c.Valid && v.Why == "" {
				v.Why = fmt.Sprintf("run %s was not valid: %s", c.Run, firstRed(r))
			}
		case c.Valid && b.c.Waits(c.Block):
			r.Part, r.Why = "not judged", "it waits for the next planned look"
		case c.Valid && b.partial(c.Block):
			r.Part, r.Why = "not judged", "a run of its block is missing or not valid, and blocks are judged whole"
			good[c.Block]++
		case c.Valid:
			r.Part = "judged"
			good[c.Block]++
		default:
			r.Part = "not judged"
		}
		b.Runs = append(b.Runs, r)
	}
	for i := range b.Voided {
		v := &b.Voided[i]
		v.Missing = good[v.Block] == 0
		v.Repeated = !v.Missing || tries[v.Block] > 1
		if v.Why == "" {
			v.Why = "a run of the block was not valid"
		}
	}
	slices.SortFunc(b.Voided, func(x, y Voided) int { return cmp.Compare(x.Block, y.Block) })
}

// partial reports whether some runs of a block count and others do not.
func (b *builder) partial(block int) bool {
	whole, some := b.whole[block]
	return some && !whole
}

// firstRed returns the first reason why a run is not valid.
func firstRed(r RunRow) string {
	for _, f := range r.Finding {
		if f.Level == record.Red {
			return f.Gate + ": " + f.Text
		}
	}
	if r.Why != "" {
		return r.Why
	}
	return "its manifest says so"
}

func (d Document) validitySections() []section {
	t := newTable("Run", ">Block", ">Order", "Test", "Arm", "Part", "!Valid", "Findings")
	for _, r := range d.Runs {
		texts := textsOf(r.Finding, findingText)
		if r.Why != "" && !strings.Contains(strings.Join(texts, "; "), strings.TrimSpace(r.Why)) {
			texts = append(texts, r.Why)
		}
		block := strconv.Itoa(r.Block)
		if r.Part == "pilot" {
			block = dash
		}
		t.add(r.ID, block, r.Order, test(d.engineLabel(r.Engine)), d.armLabel(r.Arm), r.Part,
			yes(r.Valid), orDash(strings.Join(texts, "; ")))
	}
	s := section{Level: 3, Title: "Validity", Table: t}
	judged, invalid := 0, 0
	for _, r := range d.Runs {
		if r.Part == "judged" {
			judged++
		}
		if !r.Valid {
			invalid++
		}
	}
	s.Items.add("%s: %d judged, %d not valid.", count(len(d.Runs), "run", "runs"), judged, invalid)
	for _, v := range d.Voided {
		s.Items.add("Block %d was voided: %s. %s.", v.Block, v.Why, sentence(v.again()))
	}
	if len(d.Runs) == 0 {
		s.Table = nil
	}
	return []section{s}
}

func findingText(f record.Finding) string {
	t := f.Level + " " + f.Gate
	if f.Text != "" {
		t += ": " + f.Text
	}
	if f.Limit != 0 {
		unit := ""
		if f.Unit != "" {
			unit = " " + f.Unit
		}
		t += fmt.Sprintf(" (limit %s%s)", trim(sig(f.Limit, 3)), unit)
	}
	return t
}
