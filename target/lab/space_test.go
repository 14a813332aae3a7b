package lab_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/target/lab"
)

// imageSpace makes a space with an image, on a host that can.
func imageSpace(t *testing.T, state string) *lab.Space {
	t.Helper()
	s, err := lab.NewSpace(t.Context(), state, 1, lab.Image)
	if err != nil {
		lacks := os.Geteuid() != 0 || strings.Contains(err.Error(), "no mkfs.xfs") ||
			strings.Contains(err.Error(), "no loop devices")
		if lacks && os.Getenv("CI") != "true" {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() { failure.None(t, s.Close(context.Background())) })
	return s
}

func used(t *testing.T, dir string) int64 {
	t.Helper()
	var st syscall.Statfs_t
	failure.None(t, syscall.Statfs(dir, &st))
	return int64(st.Blocks-st.Bfree) * st.Bsize
}

// TestImage puts a changed copy back to its snapshot: the copy takes no room, later writes do not
// reach the snapshot, and all of it is there again when the image is opened by another space.
func TestImage(t *testing.T) {
	state := t.TempDir()
	s := imageSpace(t, state)
	if s.By() != lab.Image || !strings.HasPrefix(s.String(), "image: ") {
		t.Errorf("space %q by %q", s, s.By())
	}
	snapshot, data := filepath.Join(s.Dir(), "snapshot"), filepath.Join(s.Dir(), "data")
	content := bytes.Repeat([]byte("plimsoll"), 4<<20)
	failure.None(t, os.MkdirAll(snapshot, 0o700))
	failure.None(t, os.WriteFile(filepath.Join(snapshot, "table"), content, 0o600))
	syscall.Sync()
	before := used(t, s.Dir())
	for range 2 {
		failure.None(t, lab.ReplaceTree(t.Context(), data, snapshot, nil))
		if got := used(t, s.Dir()) - before; got > int64(len(content)/4) {
			t.Errorf("a copy of %d bytes takes %d", len(content), got)
		}
		table, err := os.OpenFile(filepath.Join(data, "table"), os.O_RDWR, 0)
		failure.None(t, err)
		failure.None(t, failure.Of(table.WriteAt([]byte("changed!"), 4096)))
		failure.None(t, table.Close())
		if got, err := os.ReadFile(filepath.Join(snapshot, "table")); err != nil ||
			!bytes.Equal(got, content) {
			t.Fatalf("a write to the copy reached the snapshot (%v)", err)
		}
	}
	soon, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := lab.NewSpace(soon, state, 0, lab.Auto); err == nil {
		t.Error("a mounted image was mounted a second time")
	}
	link := filepath.Join(t.TempDir(), "link")
	failure.None(t, os.Symlink(state, link))
	failure.Is(t, failure.Of(lab.NewSpace(soon, link, 0, lab.Auto)), context.DeadlineExceeded)
	failure.None(t, s.Close(t.Context()))
	failure.Gone(t, s.Dir())
	again, err := lab.NewSpace(t.Context(), state, 0, lab.Auto)
	failure.None(t, err)
	if got, err := os.ReadFile(filepath.Join(again.Dir(), "data", "table")); err != nil ||
		string(got[4096:4104]) != "changed!" {
		t.Errorf("the data is not there after the image was opened again: %v", err)
	}
	failure.None(t, again.Close(t.Context()))
	plain, err := lab.NewSpace(t.Context(), state, 1, lab.Plain)
	if err != nil || plain.Dir() != state || plain.String() != "copy" {
		t.Errorf("space %v: %v", plain, err)
	}
	failure.Gone(t, filepath.Join(state, "image"))
}

// TestSpaceOfLittleData expects a plain copy of little data on a file system that shares no blocks,
// and no reason: it is the best way.
func TestSpaceOfLittleData(t *testing.T) {
	state := t.TempDir()
	s, err := lab.NewSpace(t.Context(), state, 1<<20, lab.Auto)
	failure.None(t, err)
	switch s.By() {
	case lab.Plain:
		if s.String() != "copy" || s.Dir() != state {
			t.Errorf("space %q in %s", s, s.Dir())
		}
		failure.Says(
			t,
			failure.Of(lab.NewSpace(t.Context(), state, 1<<20, lab.Reflink)),
			"want XFS or Btrfs",
		)
	case lab.Reflink:
	default:
		t.Errorf("space %q", s)
	}
	if left, err := filepath.Glob(filepath.Join(state, ".clone-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestSpaceWithoutRoom expects a plain copy with its reason where an image has no room.
func TestSpaceWithoutRoom(t *testing.T) {
	s, err := lab.NewSpace(t.Context(), t.TempDir(), 1<<50, lab.Auto)
	failure.None(t, err)
	if s.By() == lab.Reflink {
		t.Skip("this file system needs no image")
	}
	if s.By() != lab.Plain || len(s.String()) < len("copy: ")+10 {
		t.Errorf("space %q", s)
	}
}

// mounting mounts an image, prints its directory, and waits to be killed.
func mounting(state string) {
	s, err := lab.NewSpace(context.Background(), state, 1, lab.Image)
	must(err)
	must(os.WriteFile(filepath.Join(s.Dir(), "kept"), []byte("kept"), 0o600))
	syscall.Sync()
	fmt.Println(s.Dir())
	select {}
}

// TestImageOfAKilledProgram kills a program with SIGKILL and expects its mount to be gone, and its
// data to be there.
func TestImageOfAKilledProgram(t *testing.T) {
	failure.None(t, imageSpace(t, t.TempDir()).Close(t.Context()))
	state := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LAB_TEST_IMAGE="+state)
	out, err := cmd.StdoutPipe()
	failure.None(t, err)
	failure.None(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	at := strings.TrimSpace(line)
	if err != nil || !mountedAt(t, at) {
		t.Fatalf("the helper has mounted nothing at %q (%v)", at, err)
	}
	failure.None(t, cmd.Process.Kill())
	_ = cmd.Wait()
	failure.Unless(t, func() bool { return !mountedAt(t, at) }, at, " is still mounted")
	s, err := lab.NewSpace(t.Context(), state, 0, lab.Auto)
	failure.None(t, err)
	if got, err := os.ReadFile(filepath.Join(s.Dir(), "kept")); err != nil ||
		string(got) != "kept" {
		t.Errorf("the data of the killed program: %q, %v", got, err)
	}
	failure.None(t, s.Close(t.Context()))
}

func mountedAt(t *testing.T, dir string) bool {
	t.Helper()
	b, err := os.ReadFile("/proc/self/mountinfo")
	failure.None(t, err)
	return dir != "" && strings.Contains(string(b), " "+dir+" ")
}
