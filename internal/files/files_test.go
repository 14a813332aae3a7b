package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// within fails a test that waits for a pipe.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s: still not back", what)
	}
}

func TestOnlyRegularFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	link := filepath.Join(dir, "link")
	loop := filepath.Join(dir, "loop")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink("/dev/zero", link), os.Symlink(pipe, loop)); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]string{
		"/dev/zero": "a device",
		link:        "a device",
		pipe:        "a named pipe",
		loop:        "a named pipe",
		dir:         "a directory",
	}
	socket := filepath.Join(dir, "s")
	if l, err := net.Listen("unix", socket); err == nil { // a long path cannot be one
		defer l.Close()
		kinds[socket] = "a socket"
	}
	for path, kind := range kinds {
		within(t, path, func() {
			for _, most := range []int64{0, 10} {
				_, err := Read(path, most)
				if e, ok := errors.AsType[*IrregularError](err); !ok ||
					err.Error() != path+" is "+kind+"; want a regular file" ||
					e.Kind != kind {
					t.Errorf("%s: %v", path, err)
				}
			}
		})
	}
	if _, err := Read(filepath.Join(dir, "gone"), 0); !errors.Is(err, fs.ErrNotExist) ||
		!strings.HasPrefix(err.Error(), "open ") {
		t.Error(err)
	}
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	for most, ok := range map[int64]bool{0: true, 4: false, 5: true} {
		b, err := Read(file, most)
		if ok && string(b) != "12345" || !ok && !errors.Is(err, ErrTooLarge) {
			t.Errorf("at most %d: %q, %v", most, b, err)
		}
	}
	if b, err := Read("/proc/self/status", 1<<20); err != nil || len(b) == 0 {
		t.Errorf("a file that has no size by its own account: %d bytes, %v", len(b), err)
	}
}

// noted is a disk that remembers the order of operations, and fails at one.
type noted struct {
	OS
	dir  string
	did  []string
	fail string
}

func (n *noted) do(what string, paths ...string) error {
	for i, p := range paths {
		rel, err := filepath.Rel(n.dir, p)
		if err != nil {
			return err
		}
		if strings.HasPrefix(rel, ".tmp-") {
			rel = "new"
		}
		paths[i] = rel
	}
	n.did = append(n.did, what+" "+strings.Join(paths, " "))
	if n.did[len(n.did)-1] == n.fail {
		return errors.New("injected")
	}
	return nil
}

func (n *noted) Create(path string, fresh bool) (io.WriteCloser, error) {
	if err := n.do(fmt.Sprintf("create fresh=%v", fresh), path); err != nil {
		return nil, err
	}
	return n.OS.Create(path, fresh)
}

func (n *noted) Rename(from, to string) error {
	if err := n.do("rename", from, to); err != nil {
		return err
	}
	return n.OS.Rename(from, to)
}

func (n *noted) Sync(path string) error {
	if err := n.do("sync", path); err != nil {
		return err
	}
	return n.OS.Sync(path)
}

// The content is synced before the name leads to it, and the directory after; a failure before that
// leaves the old file and nothing beside it.
func TestReplaceSyncsFileAndDirectory(t *testing.T) {
	order := []string{"create fresh=true new", "sync new", "rename new f", "sync ."}
	for i, fail := range append([]string{""}, order...) {
		dir := t.TempDir()
		path := filepath.Join(dir, "f")
		if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		disk := &noted{dir: dir, fail: fail}
		err := Replace(disk, path, []byte("new"))
		if (err == nil) != (fail == "") {
			t.Errorf("failing at %q: %v", fail, err)
		}
		want := order
		if fail != "" {
			want = order[:i]
		}
		if !slices.Equal(disk.did, want) {
			t.Errorf("failing at %q it did %q, want %q", fail, disk.did, want)
		}
		b, err := os.ReadFile(path)
		if wantOld := i > 0 && i < len(order); err != nil ||
			bytes.Equal(b, []byte("old")) != wantOld {
			t.Errorf("failing at %q: it holds %q, %v", fail, b, err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("failing at %q: %v, %v", fail, entries, err)
		}
	}
}
