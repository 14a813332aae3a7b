package sizing

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/plan"
)

// An OfferCost is the cost of users on one offer, computed from the comfortable users. Unknown
// numbers are nil.
type OfferCost struct {
	Name       string  `json:"name"`
	VCPU       int     `json:"vcpu"`
	MemoryByte float64 `json:"memory_bytes"`
	Price      float64 `json:"price_per_month"`
	Currency   string  `json:"currency"`
	// Measured is true for the machine that the steps ran on; all others are extrapolations, and
	// Assumption names their basis.
	Measured   bool   `json:"measured"`
	Assumption string `json:"assumption,omitempty"`
	// Users is the number of comfortable users. AtLeast is true when no step exceeded it.
	Users   *float64 `json:"comfortable_users"`
	AtLeast bool     `json:"at_least,omitempty"`
	// Per1000 is the price of 1,000 concurrent users; RegisteredFrom and RegisteredTo are the price of
	// 1,000 registered users of whom 5 % and 20 % are concurrent.
	Per1000        *float64 `json:"per_1000_concurrent"`
	RegisteredFrom *float64 `json:"per_1000_registered_from"`
	RegisteredTo   *float64 `json:"per_1000_registered_to"`
	// Ratio is Per1000 against the measured machine; nil in another currency, of which no rate is
	// known here.
	Ratio *float64 `json:"ratio"`
}

// costs extrapolates the comfortable users of the measured machine to the other offers.
func (s Result) costs(offers []plan.Offer) []OfferCost {
	i := slices.IndexFunc(offers, func(o plan.Offer) bool { return o.Name == s.Machine.Name })
	if i < 0 {
		return nil
	}
	base := offers[i]
	need := 0.0
	for _, st := range s.Steps {
		if mem, ok := st.TotalMemory(); ok && st.Users <= s.Comfortable.Users {
			need = max(need, mem)
		}
	}
	var out []OfferCost
	for _, o := range offers {
		c := OfferCost{
			Name:       o.Name,
			VCPU:       o.VCPU,
			MemoryByte: float64(o.Memory),
			Price:      o.Price,
			Currency:   o.Currency,
			Measured:   o.Name == base.Name,
			AtLeast:    s.Comfortable.Next == 0,
		}
		users := float64(s.Comfortable.Users)
		if !c.Measured {
			users, c.Assumption = s.extrapolate(base, o, need)
		}
		if users > 0 {
			per := o.Price / users * 1000
			from, to := per*leastConcurrent, per*mostConcurrent
			c.Users = &users
			c.Per1000 = &per
			c.RegisteredFrom = &from
			c.RegisteredTo = &to
		}
		out = append(out, c)
	}
	for k := range out {
		if c, b := &out[k], out[i]; c.Per1000 != nil && b.Per1000 != nil && *b.Per1000 > 0 &&
			c.Currency == b.Currency {
			r := *c.Per1000 / *b.Per1000
			c.Ratio = &r
		}
	}
	return out
}

// extrapolate estimates the comfortable users of an offer that was not measured; 0 if there is no
// basis.
func (s Result) extrapolate(base, o plan.Offer, need float64) (float64, string) {
	n := float64(s.Comfortable.Users)
	switch {
	case n == 0:
		return 0, "nothing to extrapolate from"
	case need > float64(o.Memory):
		return 0, fmt.Sprintf(
			"its memory is less than the %s that the target held",
			bytesText(need),
		)
	case s.Bottleneck.Name == CPUBound:
		scaled := math.Floor(n * float64(o.VCPU) / float64(base.VCPU))
		text := fmt.Sprintf(
			"not measured: assumes that users grow with vCPUs, and that a vCPU is as fast as one of %s",
			base.Name,
		)
		if need == 0 {
			text += "; memory was not seen"
		}
		return scaled, text
	case o.VCPU >= base.VCPU && o.Memory >= base.Memory:
		return n, fmt.Sprintf(
			"not measured: assumes as many users as on %s, because the CPU was not shown to be what limits them",
			base.Name,
		)
	}
	return 0, fmt.Sprintf(
		"smaller than %s, and the CPU was not shown to be what limits the users there",
		base.Name,
	)
}
