package plan

import (
	"regexp"
	"strings"
	"time"
)

// A DiskLimit is the number of bytes of disk at which the files of the target end the measured
// phase of a bounded test; 0 means no limit.
type DiskLimit int64

var (
	diskRE = regexp.MustCompile(`^disk *= *(.*)$`)
	// vagueRE matches a size whose unit means a thousand to some and 1024 to others.
	vagueRE = regexp.MustCompile(`^disk *=.*[0-9] ?[kKMGT]B?$`)
)

// Limits of a DiskLimit: less is a single table, more exceeds any test's disk.
const (
	leastDisk = DiskLimit(1 << 20)
	mostDisk  = DiskLimit(1 << 50)
)

var diskUnits = units{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}}

// parseDiskLimit reads "disk=10GiB".
func parseDiskLimit(s string) (DiskLimit, error) {
	var v float64
	m := diskRE.FindStringSubmatch(s)
	ok := m != nil
	if ok {
		v, ok = diskUnits.parse(m[1])
	}
	switch {
	case !ok && vagueRE.MatchString(s):
		return 0, refuse(s, "leaves open whether a thousand or 1024 is meant; "+
			"want MiB, GiB or TiB, as in disk=10GiB")
	case !ok:
		return 0, refuse(s, "is no stop rule; want one such as disk=10GiB")
	case v < float64(leastDisk) || v > float64(mostDisk):
		return 0, refuse(s, "is out of range; want %s to %s", leastDisk, mostDisk)
	}
	return DiskLimit(v), nil
}

// String returns "disk=10GiB".
func (l DiskLimit) String() string { return "disk=" + diskUnits.format(float64(l)) }

// A LastPart is the length of the end of the measured phase that counts; 0 is all of it.
type LastPart time.Duration

// parseLastPart reads "last 60m".
func parseLastPart(s string) (LastPart, error) {
	rest, ok := strings.CutPrefix(s, "last ")
	if !ok {
		return 0, refuse(s, "does not name a part; want the last one, as in last 60m")
	}
	d, err := parseDuration(strings.TrimSpace(rest))
	if err != nil {
		return 0, err
	}
	if d < time.Second || d%time.Second != 0 {
		return 0, refuse(s, "cannot be measured; want whole seconds, at least last 1s")
	}
	return LastPart(d), nil
}

// String returns "last 60m".
func (l LastPart) String() string { return "last " + FormatDuration(time.Duration(l)) }

// checkUntil checks that stop rule and window of a bounded test can be evaluated and measured.
func (d *decoder) checkUntil(p *Plan) {
	b := p.Bounded
	if b.Until > 0 && d.good("bounded.until") {
		switch {
		case p.Target.Driver == External:
			d.at("bounded.until",
				"cannot be watched, because the disk of a target that is not ours is not "+
					"seen; remove it, or use bounded.measure alone")
		case p.Compare != nil && p.Compare.Combine && p.Unbounded != nil:
			d.at("bounded.until",
				"leaves the search of compare.combine a target whose disk is full; remove "+
					"one of them")
		}
	}
	if b.Window > 0 && d.good("bounded.window", "bounded.measure") &&
		time.Duration(b.Window) > b.Measure {
		d.at("bounded.window", "%s is more than bounded.measure %s; want less", b.Window,
			FormatDuration(b.Measure))
	}
	if len(b.Stages) > 0 && (b.Until > 0 || b.Window > 0) &&
		d.good("bounded.stages", "bounded.until", "bounded.window") {
		d.at("bounded.stages",
			"are timed from the beginning of a phase whose beginning bounded.window, or end "+
				"bounded.until, moves; use storms in a plan without them")
	}
}
