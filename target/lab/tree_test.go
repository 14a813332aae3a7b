package lab

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/internal/failure"
)

// TestReplaceTree copies files of the shapes that data directories have and compares bytes and
// modes.
func TestReplaceTree(t *testing.T) {
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "src"), filepath.Join(dir, "dst")
	files := map[string]struct {
		size int64
		at   []int64 // where data is; the rest is a hole
		mode os.FileMode
	}{
		"empty":         {0, nil, 0o600},
		"hole":          {5 << 20, nil, 0o660},
		"begin":         {5 << 20, []int64{0}, 0o640},
		"middle":        {5<<20 + 13, []int64{1 << 20, 3 << 20}, 0o600},
		"end":           {5<<20 + 13, []int64{5 << 20}, 0o600},
		"sub/deep/file": {100, []int64{90}, 0o644},
	}
	for name, f := range files {
		path := filepath.Join(src, name)
		failure.None(t, os.MkdirAll(filepath.Dir(path), 0o750))
		b, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, f.mode)
		failure.None(t, err)
		failure.None(t, b.Truncate(f.size))
		for _, at := range f.at {
			failure.None(t, failure.Of(b.WriteAt([]byte("data"), at)))
		}
		failure.None(t, b.Close())
	}
	failure.None(t, syscall.Mkfifo(filepath.Join(src, "fifo"), 0o600))
	failure.None(t, os.MkdirAll(filepath.Join(dst, "old"), 0o700))
	failure.None(t, ReplaceTree(t.Context(), dst, src, nil))
	for name, f := range files {
		want, err := os.ReadFile(filepath.Join(src, name))
		failure.None(t, err)
		got, err := os.ReadFile(filepath.Join(dst, name))
		failure.None(t, err)
		if !bytes.Equal(got, want) || int64(len(got)) != f.size ||
			strings.Count(string(got), "data") != len(f.at) {
			t.Errorf("%s: the copy differs (%d bytes, want %d)", name, len(got), f.size)
		}
		a, _ := os.Stat(filepath.Join(src, name))
		b, _ := os.Stat(filepath.Join(dst, name))
		if a.Mode() != b.Mode() {
			t.Errorf("%s: mode %v, want %v", name, b.Mode(), a.Mode())
		}
	}
	for _, name := range []string{"fifo", "old"} {
		failure.Gone(t, filepath.Join(dst, name))
	}
	if err := ReplaceTree(t.Context(), dst, filepath.Join(dir, "none"), nil); err == nil {
		t.Error("a copy of nothing was made")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.new")); len(left) != 0 {
		t.Errorf("%v left by a copy that failed", left)
	}
}

// TestReplaceTreeCutShort watches the order in which a directory is replaced: it loses its name
// before its first file. A kill -9 at any moment then leaves no dst, or all of it. The remains of
// such a kill beside it are removed.
func TestReplaceTreeCutShort(t *testing.T) {
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "src"), filepath.Join(dir, "dst")
	for _, path := range []string{src + "/new", dst + "/a", dst + "/b", dst + ".old/half", dst + ".new/half"} {
		failure.None(t, os.MkdirAll(path, 0o700))
	}
	watch, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	failure.None(t, err)
	defer unix.Close(watch)
	failure.None(t, failure.Of(unix.InotifyAddWatch(watch, dst, unix.IN_MOVE_SELF|unix.IN_DELETE)))
	failure.None(t, ReplaceTree(t.Context(), dst, src, nil))
	events := make([]byte, 4096)
	n, err := unix.Read(watch, events)
	if err != nil || n < unix.SizeofInotifyEvent {
		t.Fatalf("%d bytes of events: %v", n, err)
	}
	// struct inotify_event: wd, mask
	if mask := binary.NativeEndian.Uint32(events[4:]); mask&unix.IN_MOVE_SELF == 0 {
		t.Errorf(
			"the first event of the old directory is %#x, want that it was renamed (%#x)",
			mask,
			unix.IN_MOVE_SELF,
		)
	}
	left, err := filepath.Glob(dst + "*")
	if err != nil || len(left) != 1 || left[0] != dst {
		t.Errorf("left are %v, %v; want %s alone", left, err, dst)
	}
	failure.None(t, failure.Of(os.Stat(dst+"/new")))
}
