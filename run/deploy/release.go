package deploy

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ReleaseOf returns the usual name of a server's version, among the names that the server
// at an address reports. The error reports that it is not the version that the plan wants.
func ReleaseOf(want string, names []string, at string) (found string, err error) {
	early := candidate(want, names)
	is := func(has string) bool { return isRelease(want, has) }
	if early != "" || !slices.ContainsFunc(names, is) {
		err = fmt.Errorf("the server at %s reports the version %s, and the arm is %s: let "+
			"target.install put that version there and wait for it, or write "+
			"target.verify.version: none",
			at, cmp.Or(strings.Join(names, ", "), "of no name"), want)
	}
	return cmp.Or(early, named(want, names)), err
}

// named returns the usual name of a version: the wanted one, else the first.
func named(want string, names []string) string {
	for _, has := range names {
		if isRelease(want, has) {
			return has
		}
	}
	return strings.Join(names[:min(len(names), 1)], "")
}

// earlyRE is the beginning of a suffix that a version has before it is released.
var earlyRE = regexp.MustCompile(`^(?i:rc|alpha|beta|pre|dev|snapshot)`)

// candidate returns the name that shows that a server runs a version from before the wanted
// release, whose number it may report beside it: 11.1.0-rc2 where want is 11.1. It is empty if
// there is none.
func candidate(want string, names []string) string {
	for _, has := range names {
		number, suffix, _ := strings.Cut(has, "-")
		if has != want && earlyRE.MatchString(suffix) && isRelease(want, number) {
			return has
		}
	}
	return ""
}

// isRelease reports whether a server that reports has runs the version want: the same text, the
// beginning of a commit of seven digits or more, or the same numbers as far as want has them with
// the same suffix, so that 11.1-rc2 is 11.1.0-rc2 and 11.1 is 11.1.4.
func isRelease(want, has string) bool {
	want, has = strings.TrimPrefix(want, "v"), strings.TrimPrefix(has, "v")
	if want == has || len(want) >= 7 && len(has) == 40 && strings.HasPrefix(has, want) {
		return true
	}
	wantNumbers, wantSuffix, _ := strings.Cut(want, "-")
	hasNumbers, hasSuffix, _ := strings.Cut(has, "-")
	if wantSuffix != hasSuffix {
		return false
	}
	w, h := strings.Split(wantNumbers, "."), strings.Split(hasNumbers, ".")
	for i, part := range w {
		if _, err := strconv.Atoi(part); err != nil || i >= len(h) || h[i] != part {
			return false
		}
	}
	return len(w) > 1
}
