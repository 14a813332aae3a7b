package dumps

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"plimsoll/internal/files"
	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/reference/dataset"
	"plimsoll/reference/dataset/dump"
)

// mostSpec bounds the file of a spec, in bytes.
const mostSpec = 1 << 20

// ReadSpec returns the preset of a name, or the spec in a file. Neither is a [plan.UsageError].
func ReadSpec(name string) (dataset.Spec, error) {
	if s, ok := dataset.Preset(name); ok {
		return s, nil
	}
	src, err := files.Read(name, mostSpec)
	if errors.Is(err, os.ErrNotExist) {
		return dataset.Spec{}, plan.Usagef("dataset %s: neither a preset (%s) nor a file",
			name, strings.Join(dataset.Presets(), ", "))
	}
	if err != nil {
		return dataset.Spec{}, plan.UsageError{Err: err}
	}
	s, err := dataset.ParseSpec(src)
	if err != nil {
		return s, plan.UsageError{Err: plain.Below(err, "%s is no good spec of a dataset", name)}
	}
	return s, nil
}

// Text names a dump in descriptions and reports.
func Text(d *dump.Dump) string {
	m := d.Manifest
	text := m.Origin
	posts := slices.IndexFunc(m.Tables, func(t dump.Table) bool { return t.Name == "posts" })
	switch {
	case m.Spec != nil:
		text = fmt.Sprintf("%s: %s users, %s posts, seed %d", m.Spec.Name,
			plain.Thousands(m.Spec.Users), plain.Thousands(m.Spec.Posts), m.Spec.Seed)
	case posts >= 0:
		text += ": " + plain.Thousands(int(m.Tables[posts].Rows)) + " posts"
	}
	return text + ", sha256 " + d.Digest()[:12]
}
