package verdict

import (
	"encoding/json"
	"math"
)

// optional is a number that may be unknown: NaN and the infinities are null in JSON. A pointer to
// one leaves it as it is where the JSON has null.
type optional float64

func (o optional) MarshalJSON() ([]byte, error) {
	if f := float64(o); !math.IsNaN(f) && !math.IsInf(f, 0) {
		return json.Marshal(f)
	}
	return []byte("null"), nil
}

// numbers points to the fields of a result that may be unknown. In resultJSON they lie one level
// above the fields of the same JSON names of the result itself, and so take their place.
type numbers struct {
	Effect    *optional `json:"effect"`
	Lo        *optional `json:"lo"`
	Hi        *optional `json:"hi"`
	Lo90      *optional `json:"lo90"`
	Hi90      *optional `json:"hi90"`
	P         *optional `json:"p"`
	SignFlipP *optional `json:"sign_flip_p"`
	HolmP     *optional `json:"holm_p"`
	HL        *optional `json:"hl"`
	HLLo      *optional `json:"hl_lo"`
	HLHi      *optional `json:"hl_hi"`
	SD        *optional `json:"sd"`
	MDE       *optional `json:"mde"`
}

type bareResult Result // without the methods

type resultBelow struct{ *bareResult }

type resultJSON struct {
	resultBelow
	numbers
}

// json returns the JSON form of the result, which shares its fields.
func (r *Result) json() *resultJSON {
	of := func(v *float64) *optional { return (*optional)(v) }
	return &resultJSON{resultBelow{(*bareResult)(r)}, numbers{
		of(&r.Effect), of(&r.Lo), of(&r.Hi), of(&r.Lo90), of(&r.Hi90),
		of(&r.P), of(&r.SignFlipP), of(&r.HolmP),
		of(&r.HL), of(&r.HLLo), of(&r.HLHi), of(&r.SD), of(&r.MDE),
	}}
}

// MarshalJSON writes numbers that are not known as null.
func (r Result) MarshalJSON() ([]byte, error) { return json.Marshal(r.json()) }

// UnmarshalJSON reads the form that MarshalJSON writes; a number that is null or missing is NaN.
func (r *Result) UnmarshalJSON(data []byte) error {
	*r = unknown()
	return json.Unmarshal(data, r.json())
}

type summaryJSON struct {
	Name    string    `json:"name"`
	N       int       `json:"n"`
	Mean    *optional `json:"mean"`
	Lo      *optional `json:"lo"`
	Hi      *optional `json:"hi"`
	AtLeast bool      `json:"at_least,omitempty"`
}

func (s *Summary) json() summaryJSON {
	return summaryJSON{
		s.Name,
		s.N,
		(*optional)(&s.Mean),
		(*optional)(&s.Lo),
		(*optional)(&s.Hi),
		s.AtLeast,
	}
}

// MarshalJSON writes numbers that are not known as null.
func (s Summary) MarshalJSON() ([]byte, error) { return json.Marshal(s.json()) }

// UnmarshalJSON reads the form that MarshalJSON writes; a number that is null or missing is NaN.
func (s *Summary) UnmarshalJSON(data []byte) error {
	nan := math.NaN()
	*s = Summary{Mean: nan, Lo: nan, Hi: nan}
	in := s.json()
	err := json.Unmarshal(data, &in)
	s.Name = in.Name
	s.N = in.N
	s.AtLeast = in.AtLeast
	return err
}
