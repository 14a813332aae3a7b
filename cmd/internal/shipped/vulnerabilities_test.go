package shipped

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/failure"
)

// TestVulnerabilitiesAreFoundOrNotChecked runs the script with a program in the place of
// govulncheck, which answers -version and a scan as configured.
func TestVulnerabilitiesAreFoundOrNotChecked(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash")
	}
	const database, nothing = "echo 'DB: https://example.org'; echo 'DB updated: 2026-11-01'", "echo 'DB: https://example.org'"
	for _, c := range []struct {
		name, version, again, scan string // again: the second answer to -version
		status                     int
		says                       string
	}{
		{"clean", database, database, "exit 0", 0, "none that is known can be reached"},
		{"found", database, database, "echo 'Vulnerability #1'; exit 3", 1, "FAILED: the program reaches code with known vulnerabilities"},
		{"no database", nothing, nothing, "exit 1", 0, "not checked: the database https://example.org/db cannot be reached"},
		{"no answer", "exit 1", "exit 1", "exit 1", 0, "not checked"},
		{"database goes", database, nothing, "echo 'dial tcp: no route' >&2; exit 1", 0, "not checked: the database https://example.org/db can no longer be reached"},
		{"broken", database, database, "echo 'loading packages: broken' >&2; exit 1", 1, "FAILED: govulncheck ended with status 1"},
		{"usage", database, database, "exit 2", 1, "FAILED: govulncheck ended with status 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			tool := filepath.Join(dir, "govulncheck")
			text := "#!/bin/sh\ncase $* in\n'-db https://example.org/db -version') if [ -e " + dir + "/asked ]; then " + c.again + "; else touch " + dir + "/asked; " + c.version + "; fi ;;\n*) " + c.scan + " ;;\nesac\n"
			failure.None(t, os.WriteFile(tool, []byte(text), 0o755))
			cmd := exec.CommandContext(
				t.Context(),
				filepath.Join("..", "..", "..", "scripts", "vulnerabilities.sh"),
			)
			cmd.Env = append(os.Environ(), "GOVULNCHECK="+tool, "GOVULNDB=https://example.org/db")
			out, _ := cmd.CombinedOutput()
			if got := cmd.ProcessState.ExitCode(); got != c.status ||
				!strings.Contains(string(out), c.says) {
				t.Errorf("status %d, want %d; says\n%s\nwant %q in it", got, c.status, out, c.says)
			}
		})
	}
}
