package arch

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"
)

var (
	pageLink = regexp.MustCompile(`\]\(([^)\s#:]*)(?:#([^)\s]+))?\)`)
	heading  = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
	// notInAnchor matches what GitHub, and the site, leave out of a heading's anchor.
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// pages checks that the links of Markdown lead to files of the repository and to headings in them.
func pages(t *tree) (bad []string) {
	texts, anchors := map[string][]byte{}, map[string]map[string]bool{}
	for _, name := range t.sorted() {
		if path.Ext(name) != ".md" {
			continue
		}
		texts[name] = fence.ReplaceAllFunc(t.texts[name], func(b []byte) []byte {
			return bytes.Repeat([]byte("\n"), bytes.Count(b, []byte("\n")))
		})
		anchors[name] = map[string]bool{}
		for _, m := range heading.FindAllSubmatch(texts[name], -1) {
			anchor := strings.ReplaceAll(
				notInAnchor.ReplaceAllString(strings.ToLower(string(m[1])), ""),
				" ",
				"-",
			)
			anchors[name][anchor] = true
		}
	}
	for _, name := range t.sorted() {
		if name == "CHANGELOG.md" {
			continue // it may lead to what has been removed since
		}
		for i, line := range strings.Split(string(texts[name]), "\n") {
			for _, m := range pageLink.FindAllStringSubmatch(codeSpan.ReplaceAllString(line, "code"), -1) {
				to := path.Join(path.Dir(name), m[1])
				if m[1] == "" {
					to = name
				}
				switch {
				case !t.paths[to]:
					bad = append(
						bad,
						fmt.Sprintf("%s:%d: leads to %s, which does not exist", name, i+1, m[1]),
					)
				case m[2] != "" && anchors[to] != nil && !anchors[to][m[2]]:
					bad = append(bad, fmt.Sprintf(
						"%s:%d: leads to %s, which has no heading #%s",
						name,
						i+1,
						to,
						m[2],
					))
				}
			}
		}
	}
	return bad
}
