package mattermost

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// tableOf returns the cells of a table of docs/verify.md, by its first heading.
func tableOf(t *testing.T, heading string) (list [][]string) {
	t.Helper()
	b, err := os.ReadFile("../../docs/verify.md")
	noError(t, err)
	_, after, ok := strings.Cut(string(b), "\n| "+heading+" |")
	if !ok {
		t.Fatalf("no table %q", heading)
	}
	for i, line := range strings.Split(after, "\n") {
		switch {
		case i < 2: // the rest of the headings, and the rule below
		case !strings.HasPrefix(line, "|"):
			return list
		default:
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for k := range cells {
				cells[k] = strings.TrimSpace(cells[k])
			}
			list = append(list, cells)
		}
	}
	return list
}

// lineOf describes a server of a release, with its switches as they come.
func lineOf(v version, l license) *facts {
	f := &facts{Version: v, License: l, Config: map[string]string{}}
	if v.before(version{7}) {
		f.Config["CollapsedThreads"] = "disabled" // until then
	}
	if v.before(version{10, 5}) {
		f.Config["FeatureFlagChannelBookmarks"] = "false"
	}
	if v.before(version{10, 11}) {
		f.Config["FeatureFlagCustomProfileAttributes"] = "false"
	}
	return f
}

// The tables of docs/verify.md say what the code goes by: features, the numbers of actions of each
// line, and those that a license opens.
func TestVerifyTables(t *testing.T) {
	licenses := map[license]string{unlicensed: "", anyLicense: "any", professional: "Professional",
		enterprise: "Enterprise"}
	told := map[string]bool{}
	for _, row := range tableOf(t, "needed by") {
		told[strings.Join(row[:4], "|")] = true
	}
	for f := always + 1; f < numFeatures; f++ {
		spec := &featureSpecs[f]
		config := ""
		if spec.config != "" {
			config = "`" + spec.config + "`"
		}
		want := fmt.Sprintf("%s|%d.%d|%s|%s", spec.name, spec.since[0], spec.since[1], config,
			licenses[spec.license])
		if !told[want] {
			t.Errorf("no row %q", want)
		}
	}
	if len(told) != int(numFeatures)-1 {
		t.Errorf("%d rows, %d features", len(told), numFeatures-1)
	}
	count := func(f *facts) (ok, absent, licensed int) {
		for i := range actions {
			switch need := actions[i].needs; {
			case f.lacks(need) == "":
				ok++
			case f.wantsLicense(need):
				licensed++
			default:
				absent++
			}
		}
		return ok, absent, licensed
	}
	tiers := map[string]license{"none": unlicensed, "professional": professional,
		"enterprise": enterprise}
	for _, row := range tableOf(t, "`refchat` flags") {
		v := "11.0.0"
		tier := "enterprise"
		if row[0] != "none (11.0, Enterprise)" {
			if _, err := fmt.Sscanf(strings.Trim(row[0], "`"), "-version %s -license %s", &v,
				&tier); err != nil {
				t.Fatalf("%q: %v", row[0], err)
			}
		}
		ok, absent, licensed := count(lineOf(parseVersion(v), tiers[tier]))
		if got, want := strings.Join(row[1:], " "), fmt.Sprint(ok, " ", absent, " ", licensed,
			" 0"); got != want {
			t.Errorf("%s: %s, want %s", row[0], got, want)
		}
	}
	lines := tableOf(t, "line")
	if len(lines) != 4 {
		t.Errorf("%d lines", len(lines))
	}
	for _, row := range lines {
		v := parseVersion(row[0])
		var names []string
		for f := always + 1; f < numFeatures; f++ {
			if featureSpecs[f].license > unlicensed && lineOf(v, enterprise).lacks(f) == "" {
				names = append(names, featureSpecs[f].name)
			}
		}
		want := "nothing needs one"
		if len(names) > 0 {
			want = strings.Join(names, ", ")
		}
		if row[3] != want {
			t.Errorf("%s: a license opens %q, want %q", row[0], row[3], want)
		}
		if n := 0; strings.Contains(row[2], "all ") ||
			strings.Contains(row[2], "the effect of each") {
			ok, _, _ := count(lineOf(v, enterprise))
			for word := range strings.FieldsSeq(row[2]) {
				if _, err := fmt.Sscan(word, &n); err == nil && n != ok {
					t.Errorf("%s: %d actions, want %d", row[0], n, ok)
				}
			}
			if n == 0 {
				t.Errorf("%s: %q has no number", row[0], row[2])
			}
		}
	}
}
