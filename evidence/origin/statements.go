package origin

import (
	"fmt"

	"plimsoll/judge/attribution/statements"
)

// Statements attributes the difference in execution time of an arm's database on an engine, in the
// judged blocks; nil if no run has a record of its statements.
func (c Origins) Statements(engine, arm string) (*statements.Difference, error) {
	var blocks []statements.PairedCensus
	known := false
	for b := 1; b <= c.JudgedBlocks(); b++ {
		var block statements.PairedCensus
		var err error
		if block.Base, err = c.issued(b, engine, c.Arms[0]); err == nil {
			block.New, err = c.issued(b, engine, arm)
		}
		if err != nil {
			return nil, fmt.Errorf("statements of block %d: %w", b, err)
		}
		known = known || block.Base.Format+block.New.Format > 0
		blocks = append(blocks, block)
	}
	if !known {
		return nil, nil
	}
	d := statements.Attribute(blocks)
	return &d, nil
}

// issued reads the statements of the run of a block; the zero value if it has none.
func (c Origins) issued(block int, engine, arm string) (out statements.Issued, err error) {
	r, err := c.judged(block, engine, arm)
	if err != nil || r == nil {
		return out, err
	}
	census, err := r.Statements()
	if err != nil || census == nil {
		return out, err
	}
	out.Census = *census
	out.Operations, out.ByName, err = c.Operations(r)
	return out, err
}
