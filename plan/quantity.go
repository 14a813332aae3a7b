package plan

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Quantities are written with their unit, so that 5 is never taken for five seconds or five
// percent.

var (
	decimalRE = regexp.MustCompile(`^(0|[1-9][0-9]{0,17})(\.[0-9]{1,18})?$`)
	numberRE  = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)
)

// MaxTime is the longest time in a plan.
const MaxTime = 7 * 24 * time.Hour

// parseDuration reads "5s", "90m", "1h30m": at least 0, at most seven days.
func parseDuration(s string) (time.Duration, error) {
	if numberRE.MatchString(s) && s != "0" {
		return 0, refuse(s, "has no unit; write %ss for seconds", s)
	}
	d, err := time.ParseDuration(s)
	switch {
	case strings.HasSuffix(s, "%"):
		return 0, refuse(s, "is a percentage; want a time such as 5s or 1h30m")
	case err != nil && strings.HasSuffix(s, "d"):
		return 0, refuse(s, "is not a time; the largest unit is h, as in 36h")
	case err != nil:
		return 0, refuse(s, "is not a time; want one such as 300ms, 5s or 1h30m")
	case d < 0:
		return 0, refuse(s, "is negative; want 0s or more")
	case d > MaxTime:
		return 0, refuse(s, "is more than seven days; want at most 168h")
	}
	return d, nil
}

// FormatDuration writes a time as plans do, without the empty units of Duration.String: "90m",
// "1h30m", "10s". It is the inverse of parseDuration.
func FormatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// parsePercent reads "25%" as 0.25, correctly rounded.
func parsePercent(s string) (float64, error) {
	num, ok := strings.CutSuffix(s, "%")
	num = strings.TrimRight(num, " ")
	switch {
	case !ok && strings.HasSuffix(s, "pp"):
		return 0, refuse(s, "is in percentage points; want a percentage such as 25%%")
	case !ok && decimalRE.MatchString(s):
		if v, err := strconv.ParseFloat(s, 64); err == nil && v > 0 && v <= 1 {
			return 0, refuse(s, "has no unit; write %s%%, or %s if a fraction is meant",
				s, formatPercent(v))
		}
		return 0, refuse(s, "has no unit; write %s%% if percent is meant", s)
	case !ok:
		return 0, refuse(s, "is not a percentage; want one such as 25%%")
	case strings.HasPrefix(num, "-"):
		return 0, refuse(s, "is negative; want 0%% or more")
	case !decimalRE.MatchString(num):
		return 0, refuse(s, "is not a percentage; want one such as 25%% or 0.5%%")
	}
	return strconv.ParseFloat(num+"e-2", 64)
}

// formatPercent is the inverse of parsePercent. It moves the point in the decimal digits; a
// multiplication by 100 would be rounded once more.
func formatPercent(v float64) string {
	s := strconv.FormatFloat(v, 'f', -1, 64)
	whole, frac, _ := strings.Cut(s, ".")
	for len(frac) < 2 {
		frac += "0"
	}
	whole = strings.TrimLeft(whole+frac[:2], "0")
	if whole == "" {
		whole = "0"
	}
	if frac = strings.TrimRight(frac[2:], "0"); frac != "" {
		whole += "." + frac
	}
	return whole + "%"
}

// notJudged is the margin of an endpoint that is not to be judged.
const notJudged = "none"

// parseMargin reads "5%" as a relative difference, "0.1pp" as one in percentage points, and "none".
func parseMargin(s string) (MarginValue, error) {
	var m MarginValue
	if s == notJudged {
		m.None = true
		return m, nil
	}
	text := s
	if num, ok := strings.CutSuffix(s, "pp"); ok {
		m.Points, text = true, strings.TrimRight(num, " ")+"%"
		if !decimalRE.MatchString(strings.TrimSuffix(text, "%")) {
			return m, refuse(s, "is not a margin; want 5%% (relative) or 0.1pp (percentage points)")
		}
	}
	var err error
	if m.Value, err = parsePercent(text); err != nil {
		return m, err
	}
	if m.Value <= 0 || m.Value >= 1 {
		return m, refuse(s, "is not a possible margin; want more than 0 and less than 100")
	}
	return m, nil
}

// String returns "5%", "0.1pp" or "none".
func (m MarginValue) String() string {
	if m.None {
		return notJudged
	}
	s := formatPercent(m.Value)
	if m.Points {
		s = strings.TrimSuffix(s, "%") + "pp"
	}
	return s
}

// parseNumber reads a decimal number without unit.
func parseNumber(s string) (float64, error) {
	if strings.HasSuffix(s, "%") {
		return 0, refuse(s, "is a percentage; want a number such as 0.1")
	}
	if !decimalRE.MatchString(s) {
		return 0, refuse(s, "is not a number; want one such as 0.1 or 2")
	}
	return strconv.ParseFloat(s, 64)
}

// formatNumber is the inverse of parseNumber.
func formatNumber(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// parseInt reads a whole number, at least 0.
func parseInt(s string) (int, error) {
	v, err := parseUint(s)
	if err != nil {
		return 0, err
	}
	if v > math.MaxInt32 {
		return 0, refuse(s, "is too large; want at most %d", math.MaxInt32)
	}
	return int(v), nil
}

// parseUint reads a whole number from 0 to 18446744073709551615.
func parseUint(s string) (uint64, error) {
	v, err := strconv.ParseUint(s, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, refuse(s, "is too large; want at most %d", uint64(math.MaxUint64))
	case strings.HasPrefix(s, "-") && numberRE.MatchString(s):
		return 0, refuse(s, "is negative; want 0 or more")
	case err != nil || s != strconv.FormatUint(v, 10):
		return 0, refuse(s, "is not a whole number; want one such as 200")
	}
	return v, nil
}

// A unit is a number of bytes or bits.
type unit struct {
	name string
	size float64
}

// units are the units of a quantity, the largest first.
type units []unit

// parse reads "4GB", in which a space may stand before the unit.
func (all units) parse(s string) (float64, bool) {
	for _, u := range all {
		num, ok := strings.CutSuffix(s, u.name)
		if v, err := strconv.ParseFloat(strings.TrimSuffix(num, " "), 64); ok && err == nil &&
			digitsRE.MatchString(num) {
			return v * u.size, true
		}
	}
	return 0, false
}

// digitsRE matches a decimal number, and perhaps a space behind it.
var digitsRE = regexp.MustCompile(`^[0-9]+(\.[0-9]+)? ?$`)

// format writes a quantity in the largest unit in which it is whole, or else in the smallest.
func (all units) format(v float64) string {
	for _, u := range all {
		if n := v / u.size; n == math.Trunc(n) {
			return formatNumber(n) + u.name
		}
	}
	last := all[len(all)-1]
	return formatNumber(v/last.size) + last.name
}
