package shipped

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/failure"
)

const root = "../../.."

// TestReleaseHasItsFiles holds the configuration of a release to the repository: each file that it
// takes is there, no place of a package is taken twice, and the variables that the linker sets
// exist, for it is silent about those that do not. make release-check carries the configuration
// out.
func TestReleaseHasItsFiles(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, ".goreleaser.yaml"))
	failure.None(t, err)
	type file struct{ Src, Dst, Packager string }
	var conf struct {
		Builds   []struct{ Targets []string }
		Archives []struct{ Files []file }
		Nfpms    []struct {
			Formats  []string
			Contents []file
		}
	}
	failure.None(t, yaml.Unmarshal(text, &conf))
	if len(conf.Builds) != 1 || len(conf.Archives) != 1 || len(conf.Nfpms) != 1 ||
		len(conf.Builds[0].Targets) != 4 {
		t.Fatalf(
			"the configuration has %d builds, %d archives, %d packages; want one of each, and four targets",
			len(conf.Builds),
			len(conf.Archives),
			len(conf.Nfpms),
		)
	}
	taken := map[string]bool{}
	for _, f := range append(conf.Archives[0].Files, conf.Nfpms[0].Contents...) {
		if f.Src != "" && !strings.HasPrefix(f.Src, "bin/release/") { // made by cmd/manual
			if found, err := filepath.Glob(filepath.Join(root, f.Src)); err != nil ||
				len(found) == 0 {
				t.Errorf("there is no %s", f.Src)
			}
		}
		if strings.HasPrefix(f.Dst, "/") && taken[f.Packager+f.Dst] {
			t.Errorf("%s is taken twice", f.Dst)
		}
		taken[f.Packager+f.Dst] = true
	}
	for _, want := range []string{"/usr/share/man/man1/", "/usr/share/bash-completion/completions/plimsoll", "/usr/lib/systemd/system/plimsoll-agent.service"} {
		if !taken[want] {
			t.Errorf("the packages lack %s", want)
		}
	}
	script, err := os.ReadFile(filepath.Join(root, "scripts", "release.sh"))
	failure.None(t, err)
	source, err := os.ReadFile(filepath.Join(root, "internal", "built", "built.go"))
	failure.None(t, err)
	set := regexp.MustCompile(`-X \$built\.(\w+)=`).FindAllSubmatch(script, -1)
	for _, v := range set {
		if !regexp.MustCompile(`(?m)^var .*\b` + string(v[1]) + `\b.* string$`).Match(source) {
			t.Errorf("package built has no variable %s", v[1])
		}
	}
	if len(set) != 3 || !strings.Contains(string(script), "\nbuilt=plimsoll/internal/built\n") {
		t.Errorf("scripts/release.sh sets %d variables of package built, want 3", len(set))
	}
	if strings.Contains(string(text), "://") {
		t.Error("the configuration names a host")
	}
}
