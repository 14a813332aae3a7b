package verdict

import (
	"errors"
	"slices"

	"plimsoll/stats"
)

// A Warning tells a reader what to know before trusting a result. In JSON it is its text alone.
type Warning struct {
	Code Code
	Text string
	// Without is the result without the pairs of a warning of [FarPairs].
	Without Kind
}

// A Code names the subject of a warning.
type Code string

// The codes of warnings.
const (
	OddNumbers   Code = "numbers"
	NoSpread     Code = "no spread"
	FarPairs     Code = "outliers"
	OnlyBounds   Code = "bounds"
	FailedArm    Code = "failed runs"
	LostOps      Code = "another mix"
	BusyHost     Code = "environment"
	MissingPairs Code = "missing pairs"
	RunOrder     Code = "order of runs" // its effect is allowed for
	UntoldOrder  Code = "untold order"  // its effect cannot be told from that of the arm
	UnlikeSpread Code = "spread"
)

// String returns the text.
func (w Warning) String() string { return w.Text }

// MarshalText returns the text.
func (w Warning) MarshalText() ([]byte, error) { return []byte(w.Text), nil }

// UnmarshalText reads the text; the code is not known then.
func (w *Warning) UnmarshalText(text []byte) error {
	*w = Warning{Text: string(text)}
	return nil
}

// Warn adds a warning, unless it is there.
func (r *Result) Warn(code Code, text string) { r.warn(Warning{Code: code, Text: text}) }

func (r *Result) warn(w Warning) {
	if !slices.Contains(r.Warnings, w) {
		r.Warnings = append(r.Warnings, w)
	}
}

// warnOfSample adds the warnings of a sample.
func (r *Result) warnOfSample(warnings []error) {
	for _, err := range warnings {
		code := OddNumbers
		if errors.Is(err, stats.ErrConstant) {
			code = NoSpread
		}
		r.Warn(code, err.Error())
	}
}

// unwarn takes back the warnings of a code.
func (r *Result) unwarn(code Code) {
	r.Warnings = slices.DeleteFunc(slices.Clone(r.Warnings),
		func(w Warning) bool { return w.Code == code })
}
