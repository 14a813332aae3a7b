package verbs

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"plimsoll/internal/browser"
	"plimsoll/internal/failure"
)

// foreignResource matches what a page would load from another host; links that a reader may follow
// are none.
var foreignResource = regexp.MustCompile(
	`(?i)<(?:script|img|link|iframe|source|video|audio|embed|object)\b[^>]*\s(?:src|srcset|href|data)\s*=\s*["']?(?:[a-z]+:)?//[^>]*>|(?:url\(|@import)\s*["']?(?:[a-z]+:)?//[^)]*`,
)

// TestSite builds the site of docs as make site does. Each page loads nothing from elsewhere and
// fits a telephone, and the search works from the disk in a browser without a network.
func TestSite(t *testing.T) {
	t.Parallel()
	const root = "../../"
	tools := root + ".plimsoll/tools/site"
	if out, err := exec.CommandContext(t.Context(), "make", "-C", root, ".plimsoll/tools/site/installed").CombinedOutput(); err != nil {
		failure.Lacks(t, "the site's generator cannot be installed here: ", err, "\n", string(out))
	}
	plimsoll, err := exec.LookPath("plimsoll") // this program, by testscript
	failure.None(t, err)
	sources, site := t.TempDir(), t.TempDir()
	for _, args := range [][]string{
		{"python", root + "scripts/site/pages.py", plimsoll, tools + "/node_modules/iframe-worker/shim/index.js", sources},
		{"mkdocs", "build", "--quiet", "--strict", "-f", sources + "/mkdocs.yml", "-d", site},
	} {
		cmd := exec.CommandContext(t.Context(), tools+"/python/bin/"+args[0], args[1:]...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	pages, address := 0, (&url.URL{Scheme: "file", Path: site}).String()+"/"
	err = filepath.WalkDir(site, func(path string, _ os.DirEntry, err error) error {
		ext := filepath.Ext(path)
		if err != nil || ext != ".html" && ext != ".css" {
			return err
		}
		text, err := os.ReadFile(path)
		if found := foreignResource.Find(text); found != nil {
			t.Errorf("%s loads from elsewhere: %s", path, found)
		}
		pages++
		return err
	})
	if err != nil || pages < 50 {
		t.Fatal(pages, err)
	}
	c := browser.Start(t)
	for _, page := range []string{"index", "compare", "verbs", "plan", "statistics", "repository/examples/process.yaml"} {
		for _, width := range []int{400, 1280} {
			c.Look(width, "light", "")
			from := c.Go(address + page + ".html")
			if bad := append(c.Problems(from, address), c.Overflow()...); bad != nil {
				t.Errorf("%s at %d: %s", page, width, strings.Join(bad, "\n"))
			}
		}
	}
	// The page opens the field a moment after the click, and searches when a key has been released.
	c.Eval(`document.querySelector("label[for=__search]").click()`, nil)
	c.Until(`document.activeElement.matches(".md-search__input")`)
	c.Call("Input.insertText", map[string]any{"text": "interrupted"}, nil)
	c.Until(`document.activeElement.value === "interrupted"`)
	c.Key("End")
	c.Until(
		`[...document.querySelectorAll(".md-search-result__link")].some(a => a.href.includes("/statuses.html"))`,
	)
}
