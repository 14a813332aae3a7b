package container_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/target/container"
)

// TestFilesOfAnImage copies a directory and a file out of an image, and leaves no container.
func TestFilesOfAnImage(t *testing.T) {
	engine(t)
	name := fmt.Sprintf("localhost/plimsoll-test-%d:1", os.Getpid())
	dir := t.TempDir()
	failure.None(t, os.MkdirAll(filepath.Join(dir, "srv", "bin"), 0o755))
	failure.None(t, os.WriteFile(filepath.Join(dir, "srv", "bin", "x"), []byte("a program"), 0o755))
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	tarball := filepath.Join(t.TempDir(), "image.tar")
	run("tar", "-C", dir, "-cf", tarball, ".")
	failure.Is(t, failure.Of(container.FindImage(t.Context(), name)), container.ErrNoImage)
	run(
		"podman",
		"import",
		"--change",
		`ENTRYPOINT ["/srv/bin/x", "-v"]`,
		"--change",
		"WORKDIR /srv",
		tarball,
		name,
	)
	t.Cleanup(func() { _ = exec.Command("podman", "rmi", name).Run() })
	image, err := container.FindImage(t.Context(), name)
	failure.None(t, err)
	if image.Program != "/srv/bin/x" || image.WorkDir != "/srv" || len(image.ID) != 64 {
		t.Errorf("found %+v", image)
	}
	to := filepath.Join(t.TempDir(), "copy")
	failure.None(t, image.Copy(t.Context(), "/srv", to))
	if b, err := os.ReadFile(filepath.Join(to, "bin", "x")); err != nil ||
		string(b) != "a program" {
		t.Errorf("copied %q, %v", b, err)
	}
	failure.None(t, image.Copy(t.Context(), image.Program, to+"-x"))
	failure.Says(t, image.Copy(t.Context(), "/opt", to+"-opt"), "/opt")
	if left := run("podman", "ps", "-a", "-q", "--filter", "ancestor="+name); left != "" {
		t.Errorf("containers are left: %s", left)
	}
}
