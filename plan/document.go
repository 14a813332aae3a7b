package plan

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/built"
)

var yamlErrorRE = regexp.MustCompile(`^yaml: (?:line ([0-9]+): )?(?s:(.*))$`)

// document returns the root mapping of the only document, or nil after reporting the reason.
func (d *decoder) document(src []byte) (root *yaml.Node) {
	if len(src) > MaxSource {
		d.fail(nil, "", "the plan is larger than %d bytes; plans are small, is this another file?",
			MaxSource)
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(src))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		d.syntax(err)
		return nil
	}
	if len(doc.Content) == 0 || isNull(doc.Content[0]) {
		d.fail(nil, "", "%s", cmp.Or(
			d.empty,
			"the plan is empty; it needs at least name, target, workload, and bounded, unbounded or sizing",
		))
		return nil
	}
	var more yaml.Node
	switch err := dec.Decode(&more); {
	case err == nil:
		d.fail(&more, "", "a second document begins here; write one plan per file")
	case !errors.Is(err, io.EOF):
		d.syntax(err)
	}
	if !d.plain(doc.Content[0]) {
		return nil
	}
	return doc.Content[0]
}

// FormatVersion is the newest version of the syntax of plans. A plan may name its own under the key
// format, so that an older program refuses it in one sentence, and not every key that it does not
// know.
const FormatVersion = 1

// format takes the key format out of a plan, and reports whether that version is read here.
func (d *decoder) format(root *yaml.Node) bool {
	for i := 0; root.Kind == yaml.MappingNode && i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value != "format" {
			continue
		}
		v := root.Content[i+1]
		n, err := strconv.Atoi(v.Value)
		if err != nil || n < 1 {
			d.fail(v, "format", "%s is no version of the syntax of plans; want %d", clip(v.Value),
				FormatVersion)
			return false
		}
		if err := built.Newer("", n, FormatVersion); err != nil {
			d.fail(v, "format", "the plan is %v", err)
			return false
		}
		root.Content = slices.Delete(root.Content, i, i+2)
		return true
	}
	return true
}

func (d *decoder) syntax(err error) {
	msg, line := err.Error(), 0
	if m := yamlErrorRE.FindStringSubmatch(msg); m != nil {
		msg = m[2]
		line, _ = strconv.Atoi(m[1]) // no line means the first
	}
	remedy := "look at indentation, quotes and brackets on this line and the one before"
	if strings.HasPrefix(msg, "did not find") {
		// The grammar, unlike the scanner, reports the line before the construct in which it got
		// lost.
		line++
		remedy = "look at indentation, commas and brackets in the part that begins here"
	}
	d.fail(&yaml.Node{Line: max(line, 1), Column: 1}, "", "this is not YAML: %s; %s", msg, remedy)
}

// plain reports whether the tree has no anchor, alias or explicit tag. An alias makes a small file
// large and a value hard to point at, so a plan does without.
func (d *decoder) plain(n *yaml.Node) bool {
	ok := true
	switch {
	case n.Kind == yaml.AliasNode:
		d.fail(n, "", "aliases (*%s) are not allowed in plans; write the value out",
			shortened(n.Value))
		return false
	case n.Anchor != "":
		d.fail(n, "",
			"anchors (&%s) are not allowed in plans; write the value out where it is needed",
			shortened(n.Anchor))
		ok = false
	case n.Style&yaml.TaggedStyle != 0:
		d.fail(n, "", "tags (%s) are not allowed in plans; write the plain value", shortened(n.Tag))
		ok = false
	}
	for _, c := range n.Content {
		ok = d.plain(c) && ok
	}
	return ok
}
