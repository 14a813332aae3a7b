package contenders

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/plan"
	"plimsoll/target/container"
)

// place makes a file or a directory's file, and returns its path.
func place(t *testing.T, path, content string) string {
	t.Helper()
	failure.None(t, os.MkdirAll(filepath.Dir(path), 0o755))
	failure.None(t, os.WriteFile(path, []byte(content), 0o755))
	return path
}

// thisProgram is a build of the program that asks.
func thisProgram(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	failure.None(t, err)
	return path
}

func TestPlan(t *testing.T) {
	root := t.TempDir()
	t.Chdir(root)
	place(t, "r/5.36/bin/mattermost", "")
	place(t, "r/5.37/bin/mattermost", "")
	place(t, "x", "#!/bin/sh\n")
	place(t, "y", "#!/bin/sh\n")
	failure.None(t, os.Symlink(thisProgram(t), "a"))
	failure.None(t, os.Symlink(thisProgram(t), "b"))
	for _, tt := range []struct {
		name, old, fresh, script string
		want                     []string
	}{
		{"directories", "r/5.36", "r/5.37", "", []string{"name: 5.36-vs-5.37", "driver: mattermost", "base: {binary: r/5.36}", "new: {binary: r/5.37}", "users: auto, measure: auto"}},
		{"programs of releases", "r/5.36/bin/mattermost", "r/5.37", "", []string{"driver: mattermost", "base: {binary: " + root + "/r/5.36}"}},
		{"builds", "a", "b", "", []string{"name: a-vs-b", "driver: refchat", `base: {binary: ./a, version: "a"}`, "engine: [postgresql]"}},
		{"any programs", "x", "y", "chat.js", []string{"name: x-vs-y", `target: {driver: process, env: {PORT: "${PORT}"}}`, "workload: {script: chat.js}", "base: {binary: ./x}", "users: auto, measure: auto"}},
		{"builds for a script", "a", "b", "chat.js", []string{"driver: refchat", "workload: {script: chat.js}"}},
		{"addresses for a script", "http://one.test", "http://two.test", "chat.js", []string{"driver: external", "workload: {script: chat.js, pace: 0.1}"}},
		{"addresses", "http://one.test", "http://two.test", "", []string{"driver: external", "mode: duet", "new: {url: http://two.test}"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Plan(t.Context(), [2]string{tt.old, tt.fresh}, "store", tt.script)
			failure.None(t, err)
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
			if _, err := plan.Parse([]byte(got)); err != nil {
				t.Error(err)
			}
		})
	}
	var bad plan.UsageError
	if _, err := Plan(t.Context(), [2]string{"a", "/bin/sh"}, "store", ""); !errors.As(err, &bad) ||
		!strings.Contains(err.Error(), "examples/program.yaml") {
		t.Errorf("another program: error %v", err)
	}
	if _, err := os.Stat("store"); err == nil {
		t.Error("a store was made")
	}
}

// TestPlanOfImages: the server of an image is a release below its working directory, or its
// program, and a second call finds what the first has copied.
func TestPlanOfImages(t *testing.T) {
	if _, err := container.FindPodman(t.Context()); err != nil && os.Getenv("CI") == "true" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip(err)
	}
	root := t.TempDir()
	program, err := os.ReadFile(thisProgram(t))
	failure.None(t, err)
	place(t, filepath.Join(root, "released", "srv", "bin", "mattermost"), "")
	place(t, filepath.Join(root, "built", "plimsoll"), string(program))
	place(t, filepath.Join(root, "other", "sh"), "")
	name := func(of string) string {
		return fmt.Sprintf("localhost/plimsoll-%s-%d:1", of, os.Getpid())
	}
	for of, changes := range map[string][2]string{
		"released": {`ENTRYPOINT ["/entry.sh"]`, "WORKDIR /srv"},
		"built":    {`ENTRYPOINT ["/plimsoll"]`, "WORKDIR /"},
		"other":    {`CMD ["/sh"]`, "WORKDIR /"},
	} {
		tarball := filepath.Join(root, of+".tar")
		for _, args := range [][]string{
			{"tar", "-C", filepath.Join(root, of), "-cf", tarball, "."},
			{"podman", "import", "--change", changes[0], "--change", changes[1], tarball, name(of)},
		} {
			if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%q: %v\n%s", args, err, out)
			}
		}
		t.Cleanup(func() { _ = exec.Command("podman", "rmi", name(of)).Run() })
	}
	store := filepath.Join(root, "store")
	for range 2 {
		for of, want := range map[string]string{
			"released": "driver: mattermost",
			"built":    "driver: refchat",
		} {
			got, err := Plan(t.Context(), [2]string{name(of), name(of)}, store, "")
			if err != nil || !strings.Contains(got, want) ||
				strings.Count(got, "version: "+name(of)) != 2 {
				t.Errorf("%s: error %v, plan\n%s", of, err, got)
			}
		}
	}
	for names, want := range map[[2]string]string{
		{"released", "built"}: "is a container image of mattermost, and " + name("built") + " is a container image of refchat; want two of one kind",
		{"other", "other"}:    "has neither a release of Mattermost (looked for in /mattermost, /opt/mattermost) nor a build of plimsoll as its program (/sh)",
	} {
		failure.Says(t, failure.Of(Plan(t.Context(), [2]string{name(names[0]), name(names[1])}, store, "")),
			want)
	}
	if parts, _ := filepath.Glob(filepath.Join(store, "images", "*.part")); len(parts) > 0 {
		t.Errorf("left %q", parts)
	}
}
