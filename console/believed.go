package console

import (
	"fmt"

	"plimsoll/record"
	"plimsoll/run/live"
)

// believed answers whether a stored run may be believed: as the run itself has answered while it
// went on.
func believed(m record.Manifest, v record.Validity) map[string]any {
	say := func(color, format string, args ...any) map[string]any {
		return map[string]any{"name": "all", "color": color, "text": fmt.Sprintf(format, args...)}
	}
	if m.Exploratory != "" {
		return say(live.Red, "The run is exploratory: %s; it gets no verdict.", m.Exploratory)
	}
	var amber string
	for _, f := range v.Findings {
		switch {
		case f.Level == record.Red:
			return say(live.Red, "The run is not valid: %s", f.Text)
		case f.Level == record.Amber && amber == "":
			amber = f.Text
		}
	}
	read := 0
	for _, g := range v.Gates {
		if g.Value != nil {
			read++
		}
	}
	switch {
	case !v.Valid && m.Why != "":
		return say(live.Red, "The run is not valid: %s", m.Why)
	case !v.Valid:
		return say(live.Red, "The run is not valid.")
	case amber != "":
		return say(live.Amber, "The run is valid, with a reservation: %s", amber)
	}
	return say(
		live.Green,
		"The run is valid: no finding is red or amber, and %d gates were read.",
		read,
	)
}
