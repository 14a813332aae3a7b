package execute

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/verbtest"
	"plimsoll/internal/failure"
)

// TestBrokenScript: what is wrong with a script is known at once, with its place.
func TestBrokenScript(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	dir := t.TempDir()
	const does = "export default function () {}"
	for _, tt := range []struct{ name, script, want string }{
		{"syntax", "export default function () {\n  const = 1;\n}", "broken.js:2:"},
		{"remote", "import x from 'https://jslib.k6.io/x.js';\n" + does, "broken.js:1:"},
		{"throws", "null.x;\n" + does, "the init code threw an exception: broken.js:1: "},
		{"nothing", "export const options = {};", "exports no default function and no actions"},
		{"options", "export const options = {vus: 2, duration: 'soon'};\n" + does,
			"options.duration: "},
	} {
		file := filepath.Join(dir, "broken.js")
		failure.None(t, os.WriteFile(file, []byte(tt.script), 0o600))
		status, _, errs := verbtest.Run(t, Run,
			"-store", filepath.Join(dir, "store"), "-script", file, server.URL)
		if status != exit.Usage || !strings.Contains(errs, tt.want) {
			t.Errorf("%s: status %d, no %q in\n%s", tt.name, status, tt.want, errs)
		}
	}
}
