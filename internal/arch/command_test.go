package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheClosingLineOfTheTests runs scripts/test.sh with a program in the place of go, which
// answers for all packages and for a test that runs alone.
func TestTheClosingLineOfTheTests(t *testing.T) {
	for _, c := range []struct {
		name, all, alone string
		status           int
		want             string // the last lines
	}{
		{"passed", "printf 'ok  \\ta\\t1s\\nok  \\tb\\t(cached)\\n?   \\tc\\t[no test files]\\n'", "", 0, "\ntests: 3 passed, 0 failed, 0 skipped\n"},
		{"failed", "printf 'FAIL\\ta\\t1s\\nFAIL\\tb [build failed]\\nok  \\tc\\t1s\\nFAIL\\n'; exit 1", "", 1,
			"\nfailed: a, b\ntests: 2 passed, 2 failed, 0 skipped\n"},
		{"no package", "exit 1", "", 1, "failed: GO test\ntests: 1 passed, 1 failed, 0 skipped\n"},
		{"alone failed", "printf 'ok  \\ta\\t1s\\n'", "exit 1", 1,
			"\nfailed: studies/faults TestThreeFaults\ntests: 1 passed, 1 failed, 0 skipped\n"},
		{"alone skipped", "printf 'ok  \\ta\\t1s\\n'", `echo "--- SKIP: $name (0.00s)"`, 0, "\ntests: 1 passed, 0 failed, 1 skipped\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tool := filepath.Join(t.TempDir(), "go")
			text := "#!/bin/bash\nif [ -z \"$PLIMSOLL_ALONE\" ]; then\n" + c.all + "\nexit\nfi\n" +
				"all=$*\nname=${all##*^}\nname=${name%%'$'*}\n" + c.alone + "\n"
			if err := os.WriteFile(tool, []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(
				t.Context(),
				filepath.Join("..", "..", "scripts", "test.sh"),
				"-timeout=1m",
			)
			cmd.Env = append(os.Environ(), "GO="+tool, "PLIMSOLL_ALONE=")
			out, _ := cmd.CombinedOutput()
			if got := cmd.ProcessState.ExitCode(); got != c.status ||
				!strings.HasSuffix(string(out), strings.ReplaceAll(c.want, "GO", tool)) {
				t.Errorf(
					"status %d, want %d; output\n%s\nwant at its end%s",
					got,
					c.status,
					out,
					c.want,
				)
			}
		})
	}
}
