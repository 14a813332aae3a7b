package agents_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// podman returns the flags before the command of podman for images and containers below dir, which
// no other program uses. The path of dir is short: the socket of a container's monitor has at most
// 108 characters.
func podman(t *testing.T, dir string) []string {
	t.Helper()
	return []string{
		"--root",
		dir + "/root",
		"--runroot",
		dir + "/run",
		"--tmpdir",
		dir + "/tmp",
		"--storage-driver",
		"vfs",
		"--cgroup-manager",
		"cgroupfs",
		"--runtime",
		program(t, "runc"),
		"--events-backend",
		"none",
		"--log-level",
		"error",
	}
}

// short returns a directory of this test with a short path.
func short(t *testing.T) string {
	t.Helper()
	//nolint:usetesting // t.TempDir has the test's name in its path
	dir, err := os.MkdirTemp("", "img")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// removeGroups removes the control groups that podman leaves: the named group and the groups below
// it, in every hierarchy.
func removeGroups(t *testing.T, name string) {
	t.Helper()
	for _, pattern := range []string{"/sys/fs/cgroup/" + name, "/sys/fs/cgroup/*/" + name} {
		found, _ := filepath.Glob(pattern) // the pattern is good
		for _, top := range found {
			var dirs []string
			_ = filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
				if err == nil && d.IsDir() {
					dirs = append(dirs, path)
				}
				return nil
			})
			for _, dir := range slices.Backward(dirs) {
				if err := syscall.Rmdir(dir); err != nil {
					t.Errorf("removing %s: %v", dir, err)
				}
			}
		}
	}
}

// The image is the same bytes whenever and wherever it is built, and its doctor runs as user 65534
// on a read-only root.
func TestImage(t *testing.T) {
	program(t, "podman")
	if os.Geteuid() != 0 {
		t.Skip("podman runs containers as root here, and this is not root")
	}
	built := filepath.Join(short(t), "plimsoll")
	if _, out, err := run(t, root+"/scripts/build.sh", built); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var digests []string
	var flags []string
	image := func(path string) string {
		t.Helper()
		flags = podman(t, short(t))
		out, all, err := run(t, "image/build.sh", append([]string{"plimsoll", path}, flags...)...)
		if err != nil {
			t.Fatalf("%v: %s", err, all)
		}
		digest := strings.TrimSpace(out)
		if !regexp.MustCompile(`^sha256:[0-9a-f]{64}$`).MatchString(digest) {
			t.Fatalf("build.sh prints %q, not a digest", out)
		}
		return digest
	}
	// The same bytes with another time and mode, and in another store.
	if err := os.Chmod(built, 0o700); err != nil {
		t.Fatal(err)
	}
	long := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	if err := os.Chtimes(built, long, long); err != nil {
		t.Fatal(err)
	}
	digests = append(digests, image(built))
	if err := os.Chmod(built, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(built, time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
	digests = append(digests, image(built))
	if digests[0] != digests[1] {
		t.Errorf("built twice, the digests are %s and %s", digests[0], digests[1])
	}
	t.Logf("digest %s", digests[0])

	// These are the container's own limits: a host may not let podman raise them.
	group := filepath.Base(filepath.Dir(built))
	t.Cleanup(func() { removeGroups(t, group) })
	contained := func(more ...string) (string, string, error) {
		args := append(
			append([]string{}, flags...),
			"run",
			"--rm",
			"--cgroup-parent",
			"/"+group,
			"--network",
			"none",
			"--cap-drop",
			"all",
			"--log-driver",
			"none",
			"--security-opt",
			"no-new-privileges",
			"--ulimit",
			"nofile=1024:20000",
			"--ulimit",
			"nproc=1024:2048",
			"--pull",
			"never",
			"--no-hosts",
			"--ipc",
			"none",
		)
		return run(t, "podman", append(args, more...)...)
	}
	readOnly := []string{"--read-only", "--read-only-tmpfs=false", "plimsoll"}
	out, all, err := contained(append(readOnly, "doctor", "-role", "agent", "-json", "-all")...)
	if err != nil {
		t.Fatalf("%v: %s", err, all)
	}
	var found []struct{ Check, Severity, Have string }
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		var wrapped struct {
			Findings []struct{ Check, Severity, Have string }
		}
		if werr := json.Unmarshal([]byte(out), &wrapped); werr != nil {
			t.Fatalf("doctor prints no findings: %v, %v: %.300s", err, werr, out)
		}
		found = wrapped.Findings
	}
	files := ""
	for _, f := range found {
		if f.Check == "open files" {
			files = f.Have
		}
	}
	if len(found) < 10 || files != "20000" {
		t.Errorf(
			"doctor has %d findings, and open files %q; want 10 or more, and the container's 20000",
			len(found),
			files,
		)
	}

	// The root refuses to be written, and a file on a volume belongs to the image's user.
	write := []string{"data", "generate", "tiny", "-o", "/there"}
	if _, all, err := contained(append(readOnly, write...)...); err == nil ||
		!strings.Contains(all, "read-only file system") {
		t.Errorf("writing to a read-only root: %v: %s", err, all)
	}
	volume := filepath.Join(short(t), "volume")
	if err := os.Mkdir(volume, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(volume, 0o777); err != nil { // whatever the umask
		t.Fatal(err)
	}
	if _, all, err := contained(append([]string{"--volume", volume + ":/store"}, append(readOnly, "ls", "-store", "/store/made")...)...); err != nil {
		t.Fatalf("%v: %s", err, all)
	}
	made, err := os.Stat(filepath.Join(volume, "made"))
	if err != nil {
		t.Fatal(err)
	}
	if owner, ok := made.Sys().(*syscall.Stat_t); !ok || owner.Uid != 65534 || owner.Gid != 65534 {
		t.Errorf("the program runs as %+v, want user and group 65534", made.Sys())
	}
	if out, all, err := run(t, "podman", append(append([]string{}, flags...), "image", "inspect", "--format",
		"{{.Config.User}} {{.Config.StopSignal}} {{.Config.Entrypoint}} {{len .RootFS.Layers}}", "plimsoll")...); err != nil ||
		strings.TrimSpace(out) != "65534:65534 SIGTERM [/plimsoll] 1" {
		t.Errorf("the image is %q: %v: %s", strings.TrimSpace(out), err, all)
	}

	// One byte more is another image: the digests above are not equal for want of looking.
	f, err := os.OpenFile(built, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte{0}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if other := image(built); other == digests[0] {
		t.Errorf("another program has the same digest %s", other)
	}
}
