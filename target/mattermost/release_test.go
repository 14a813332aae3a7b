package mattermost

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/plan"
)

func TestProgram(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		mode       os.FileMode
		want, err  string
	}{
		{"a release", "bin/mattermost", 0o755, "bin/mattermost", ""},
		{"before 5.0", "bin/platform", 0o755, "bin/platform", ""},
		{"sources", "cmd/mattermost", 0o755, "", "it has no bin/mattermost"},
		{"not executable", "bin/mattermost", 0o644, "", "is no program"},
		{"a directory", "bin/mattermost/x", 0o755, "", "is no program"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, tt.file)
			failure.None(t, os.MkdirAll(filepath.Dir(file), 0o755))
			failure.None(t, os.WriteFile(file, nil, tt.mode))
			got, args, err := Program(dir)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) ||
					!strings.Contains(err.Error(), dir) {
					t.Fatalf("error %v, want one with %q and the place", err, tt.err)
				}
				return
			}
			if err != nil || got != filepath.Join(dir, tt.want) ||
				strings.Join(args, " ") != "server" {
				t.Errorf("%s %q, error %v; want %s server", got, args, err, tt.want)
			}
		})
	}
}

// TestSettingsByEngine: the names that Mattermost has for the engines, and none that is the
// other's.
func TestSettingsByEngine(t *testing.T) {
	for engine, want := range map[string][2]string{
		plan.PostgreSQL: {"postgres", "${DSN}"},
		plan.MySQL:      {"mysql", "${DSN_BARE}?charset=utf8mb4,utf8&writeTimeout=30s"},
	} {
		got := Settings(engine)
		if got["MM_SQLSETTINGS_DRIVERNAME"] != want[0] ||
			got["MM_SQLSETTINGS_DATASOURCE"] != want[1] {
			t.Errorf("%s: %s %s, want %v", engine, got["MM_SQLSETTINGS_DRIVERNAME"],
				got["MM_SQLSETTINGS_DATASOURCE"], want)
		}
		got["MM_CONFIG"] = "mine"
	}
	if Settings(plan.MySQL)["MM_CONFIG"] == "mine" {
		t.Error("callers share a map")
	}
}
