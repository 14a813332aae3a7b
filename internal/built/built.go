// Package built describes the program that runs: its version, and the commit, date and Go that it
// was built from. It also words the refusal of files that a newer version has written. It does not
// know any format.
package built

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

// The linker sets these in a release (scripts/release.sh); another build has what Go itself
// records.
var version, commit, date string

// Info describes a build. What the build does not record is empty.
type Info struct {
	// Version is the version of the release without the letter v, or "devel" for a build of a work
	// tree.
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	// Date is the date of the commit, in RFC 3339 and UTC, so that two builds of one commit are the
	// same bytes.
	Date string `json:"date,omitempty"`
	// Modified is true for a work tree with uncommitted changes.
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"` // system and processor, such as linux/amd64
}

// This describes the program that calls it.
func This() Info {
	i := Info{
		Version:  version,
		Commit:   commit,
		Date:     date,
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || version != "" {
		i.Version = cmp.Or(i.Version, "devel")
		return i
	}
	i.Version = info.Main.Version
	if i.Version == "" || i.Version == "(devel)" {
		i.Version = "devel"
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			i.Commit = s.Value
		case "vcs.time":
			i.Date = s.Value
		case "vcs.modified":
			i.Modified = s.Value == "true"
		}
	}
	return i
}

// String returns a version with all that is known of its build in parentheses.
func (i Info) String() string {
	var of []string
	if i.Commit != "" {
		of = append(of, "commit "+i.Commit[:min(len(i.Commit), 12)])
	}
	if i.Modified {
		of = append(of, "modified")
	}
	if day, _, ok := strings.Cut(i.Date, "T"); ok {
		of = append(of, day)
	}
	return fmt.Sprintf("%s (%s)", i.Version, strings.Join(append(of, i.Go, i.Platform), ", "))
}

// ErrNewer reports a file or message that a newer version of this program has written.
var ErrNewer = errors.New("install a newer one")

// Newer returns an error that wraps [ErrNewer] if a format is newer than most, the newest that this
// program reads; else nil. tool is the version of the program that wrote it, or "" where that is
// not recorded.
func Newer(tool string, format, most int) error {
	if format <= most {
		return nil
	}
	by := "plimsoll " + tool
	if tool == "" {
		by = "a newer plimsoll"
	}
	return fmt.Errorf(
		"written by %s, format %d; this is plimsoll %s and reads up to %d: %w",
		by,
		format,
		This().Version,
		most,
		ErrNewer,
	)
}

// NewerText is [Newer] for a format that is a text of a name and a number after it, as of the first
// bytes of a file.
func NewerText(text, name string, most int) error {
	number, ok := strings.CutPrefix(text, name)
	format, err := strconv.Atoi(number)
	if !ok || err != nil {
		return nil
	}
	return Newer("", format, most)
}

// NewerJSON is [Newer] for a JSON object with the members format and tool; the argument tool stands
// in for a missing member. Other text is not newer: its reader reports it.
func NewerJSON(text []byte, tool string, most int) error {
	var head struct {
		Format int
		Tool   string
	}
	if json.Unmarshal(text, &head) != nil {
		return nil
	}
	return Newer(cmp.Or(head.Tool, tool), head.Format, most)
}
