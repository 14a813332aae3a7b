package own

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/dialect/mattermost"
	"plimsoll/internal/failure"
	"plimsoll/run/deploy/stores"
	"plimsoll/target"
	"plimsoll/target/process"
)

// Only the name of a release is passed on: with any other label, a month for instance, refchat
// would not start, or imitate an unintended release.
func TestRefchatPlaysReleases(t *testing.T) {
	for version, want := range map[string]bool{
		"5.37":                   true,
		"10.11.2":                true,
		"11.0.0":                 true,
		"":                       false,
		"v1":                     false,
		"1":                      false,
		"2026-11":                false,
		"2026.11-rc1":            false,
		"10.11.0-rc1":            true,
		"5.37 with a patch":      false,
		"5.37.":                  false,
		"5..37":                  false,
		"1.2.3.4":                false,
		"99999999999999999999.1": false,
		"5.37\n":                 false,
		"the same build":         false,
	} {
		c, err := refchatCommand(target.Spec{
			Version: version,
			Binary:  "server",
		}, process.Instance{})
		failure.None(t, err)
		if got := slices.Contains(c.Args, "-version="+version); got != want {
			t.Errorf("%q is handed on: %v, want %v", version, got, want)
		}
		if some := slices.ContainsFunc(c.Args, func(a string) bool {
			return strings.HasPrefix(a, "-version")
		}); some != want {
			t.Errorf("%q: arguments %q", version, c.Args)
		}
	}
}

// TestUploadsAreReset: the directory that servers share is one that a reset knows of.
func TestUploadsAreReset(t *testing.T) {
	var conf process.Config
	drivers[mattermost.Refchat].Configure(&conf, "", stores.Side{})
	for _, spec := range []target.Spec{{Instances: 2}, {Instances: 1, Dataset: "million"}} {
		c, err := conf.Command(spec, process.Instance{
			Hosts: []string{"a", "b"},
			Peers: [][4]int{{1, 2}, {3, 4}},
		})
		failure.None(t, err)
		if !slices.ContainsFunc(conf.Files, func(dir string) bool {
			return slices.Contains(c.Args, "-files=${DIR}/"+dir)
		}) {
			t.Errorf(
				"%+v: arguments %q, and a reset removes what is in %q",
				spec,
				c.Args,
				conf.Files,
			)
		}
	}
}
