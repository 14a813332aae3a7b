package verdict

import (
	"encoding/json"
	"math"
)

// optional is a number that may be unknown: NaN and the infinities are null in JSON, and null is NaN.
type optional float64

func (o optional) MarshalJSON() ([]byte, error) {
	if f := float64(o); !math.IsNaN(f) && !math.IsInf(f, 0) {
		return json.Marshal(f)
	}
	return []byte("null"), nil
}

func (o *optional) UnmarshalJSON(data []byte) error {
	var f *float64
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	*o = optional(math.NaN())
	if f != nil {
		*o = optional(*f)
	}
	return nil
}

// numbers has the fields of a result that may be unknown. In resultJSON they lie one level above the fields
// of the same JSON names of the result itself, and so take their place.
type numbers struct {
	Effect    optional `json:"effect"`
	Lo        optional `json:"lo"`
	Hi        optional `json:"hi"`
	Lo90      optional `json:"lo90"`
	Hi90      optional `json:"hi90"`
	P         optional `json:"p"`
	SignFlipP optional `json:"sign_flip_p"`
	HolmP     optional `json:"holm_p"`
	HL        optional `json:"hl"`
	HLLo      optional `json:"hl_lo"`
	HLHi      optional `json:"hl_hi"`
	SD        optional `json:"sd"`
	MDE       optional `json:"mde"`
}

type bareResult Result // without the methods

type resultBelow struct{ bareResult }

type resultJSON struct {
	resultBelow
	numbers
}

// MarshalJSON writes numbers that are not known as null.
func (r Result) MarshalJSON() ([]byte, error) {
	return json.Marshal(resultJSON{resultBelow{bareResult(r)}, numbers{
		Effect: optional(r.Effect), Lo: optional(r.Lo), Hi: optional(r.Hi), Lo90: optional(r.Lo90), Hi90: optional(r.Hi90),
		P: optional(r.P), SignFlipP: optional(r.SignFlipP), HolmP: optional(r.HolmP),
		HL: optional(r.HL), HLLo: optional(r.HLLo), HLHi: optional(r.HLHi), SD: optional(r.SD), MDE: optional(r.MDE),
	}})
}

// UnmarshalJSON reads the form that MarshalJSON writes; a number that is null or missing is NaN.
func (r *Result) UnmarshalJSON(data []byte) error {
	nan := optional(math.NaN())
	in := resultJSON{numbers: numbers{nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan}}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*r = Result(in.bareResult)
	n := in.numbers
	r.Effect, r.Lo, r.Hi, r.Lo90, r.Hi90 = float64(n.Effect), float64(n.Lo), float64(n.Hi), float64(n.Lo90), float64(n.Hi90)
	r.P, r.SignFlipP, r.HolmP = float64(n.P), float64(n.SignFlipP), float64(n.HolmP)
	r.HL, r.HLLo, r.HLHi, r.SD, r.MDE = float64(n.HL), float64(n.HLLo), float64(n.HLHi), float64(n.SD), float64(n.MDE)
	return nil
}

type summaryJSON struct {
	Name    string   `json:"name"`
	N       int      `json:"n"`
	Mean    optional `json:"mean"`
	Lo      optional `json:"lo"`
	Hi      optional `json:"hi"`
	AtLeast bool     `json:"at_least,omitempty"`
}

// MarshalJSON writes numbers that are not known as null.
func (s Summary) MarshalJSON() ([]byte, error) {
	return json.Marshal(summaryJSON{s.Name, s.N, optional(s.Mean), optional(s.Lo), optional(s.Hi), s.AtLeast})
}

// UnmarshalJSON reads the form that MarshalJSON writes; a number that is null or missing is NaN.
func (s *Summary) UnmarshalJSON(data []byte) error {
	nan := optional(math.NaN())
	in := summaryJSON{Mean: nan, Lo: nan, Hi: nan}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*s = Summary{in.Name, in.N, float64(in.Mean), float64(in.Lo), float64(in.Hi), in.AtLeast}
	return nil
}
