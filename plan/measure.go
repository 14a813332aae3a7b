package plan

import (
	"time"

	"go.yaml.in/yaml/v3"
)

// autoWord is the value of a key whose number the program finds: the users by a pilot, the length of
// the measured phase by what its block in a duet needs, the blocks by their budget.
const autoWord = "auto"

// Limits of a measured phase with "measure: auto". Below leastAuto its inside has too few
// stretches of a second; disturbances of about a second have averaged out after usualMost on most
// hosts.
const (
	leastAuto  = 5 * time.Second
	usualLeast = 7 * time.Second
	usualMost  = 30 * time.Second
)

// Auto reports whether the measured phase lasts as long as its block in a duet needs.
func (b *Bounded) Auto() bool { return b.MeasureMin > 0 }

func (b *Bounded) autoKey() string {
	if b.Auto() {
		return "measure"
	}
	return ""
}

// auto reports whether the file leaves the number at the path open.
func (d *decoder) auto(path string) bool {
	n := d.nodes[path]
	return n != nil && n.Kind == yaml.ScalarNode && n.Value == autoWord
}

// fillMeasure sets the times of the measured phase that the plan does not set.
func (d *decoder) fillMeasure(b *Bounded) {
	if !d.auto("bounded.measure") {
		return
	}
	fill(d, "bounded.measure_min", &b.MeasureMin, usualLeast)
	fill(d, "bounded.measure_max", &b.MeasureMax, max(usualMost, b.MeasureMin))
	b.Measure = b.MeasureMax
}

// checkMeasure checks the times of the measured phase.
func (d *decoder) checkMeasure(p *Plan, k Known) {
	const path, least, most = "bounded.measure", "bounded.measure_min", "bounded.measure_max"
	b := p.Bounded
	if !d.auto(path) {
		for _, limit := range []string{least, most} {
			if d.given(limit) && d.good(path) {
				d.at(limit, "has no effect on a measured phase of a declared length; set "+
					"bounded.measure to auto, or remove it")
			}
		}
		return
	}
	if d.good(least, most) && b.MeasureMax < b.MeasureMin {
		d.at(most, "%s is less than bounded.measure_min %s; want more",
			FormatDuration(b.MeasureMax), FormatDuration(b.MeasureMin))
	}
	switch {
	case b.Until > 0 || b.Window > 0:
		d.at(path,
			"auto excludes bounded.until and bounded.window, which end the phase by a rule "+
				"of their own; write a time")
	case len(b.Stages) > 0:
		d.at(path,
			"auto leaves open when a phase ends, and bounded.stages are timed in it; write a "+
				"time")
	case k.Drivers != nil && d.good("compare", "target", "placement", "probes", "database"):
		if duet, why := p.Duet(); !duet {
			d.at(path, "auto looks at runs that take turns, and %s; write a time", why)
		}
	}
}
