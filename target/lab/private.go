package lab

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// ProgramInfo describes a supervised program for manifests and reports.
type ProgramInfo struct {
	Name    string `json:"name"`    // "PostgreSQL", "MariaDB", "MySQL"
	Version string `json:"version"` // as the program itself reports it
	// effective values of settings that change its speed or safety
	Settings map[string]string `json:"settings"`
}

// Full returns the name with the version.
func (p ProgramInfo) Full() string { return strings.TrimSpace(p.Name + " " + p.Version) }

// systemDir is the directory in which root keeps files that an unprivileged user has to reach.
const systemDir = "/var/lib/plimsoll"

// systemCache is the directory in which root keeps programs obtained for an unprivileged user.
const systemCache = "/var/cache/plimsoll"

// Unprivileged returns the user and group as which a program that refuses to run as root should
// run: 0, 0 (meaning: ourselves) when this program is not root; else the first user among names
// that exists; else nobody, 65534.
func Unprivileged(names ...string) (uid, gid uint32) {
	if os.Geteuid() != 0 {
		return 0, 0
	}
	for _, name := range names {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		id, err1 := strconv.ParseUint(u.Uid, 10, 32)
		group, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil && id != 0 {
			return uint32(id), uint32(group)
		}
	}
	return 65534, 65534
}

// CacheDir returns a directory for programs that are obtained once and used by many runs, which the
// unprivileged users of root's children can reach too.
func CacheDir() (string, error) {
	if os.Geteuid() == 0 {
		return systemCache, os.MkdirAll(systemCache, 0o755)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding a place for downloaded programs: %w", err)
	}
	dir = filepath.Join(dir, "plimsoll")
	return dir, os.MkdirAll(dir, 0o755)
}

// MkdirState makes dir with its missing parents, for files of a system under test: for this user
// alone. As root, others can pass through those that it makes and cannot list them: a database that
// refuses root runs as another user. Those that are there stay as they are.
func MkdirState(dir string) error {
	if os.Geteuid() == 0 {
		return os.MkdirAll(dir, 0o711)
	}
	return os.MkdirAll(dir, 0o700)
}

// elsewhere is the name of the link to the directory that stands for another.
const elsewhere = "elsewhere"

// standsFor is the file in the directory that stands for another; it holds that one's path.
const standsFor = "stands-for"

// PrivateDir makes dir and returns it, or, when uid could not reach it (a directory below /root,
// for example), another directory below /var/lib/plimsoll that stands for it; a symbolic link
// "elsewhere" in dir then leads there. Directories that stand for one that is gone are removed at
// the next call. The contents are up to the caller; the directory itself stays root's. A uid of 0
// means this program's own.
func PrivateDir(dir string, uid uint32) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("making the directory %s: %w", dir, err)
	}
	if err := MkdirState(dir); err != nil {
		return "", fmt.Errorf("making a state directory: %w", err)
	}
	if uid == 0 || reachable(dir, uid) {
		return dir, nil
	}
	if err := os.MkdirAll(systemDir, 0o711); err != nil {
		return "", fmt.Errorf(
			"user %d cannot reach %s, and another place is not to be had: %w",
			uid,
			dir,
			err,
		)
	}
	sweepPrivate()
	sum := sha256.Sum256([]byte(dir))
	other := filepath.Join(systemDir, hex.EncodeToString(sum[:6]))
	if err := os.MkdirAll(other, 0o711); err != nil {
		return "", fmt.Errorf("making a state directory: %w", err)
	}
	if !reachable(other, uid) {
		return "", fmt.Errorf(
			"user %d can reach neither %s nor %s; choose a state directory whose parents all permit o+x",
			uid,
			dir,
			other,
		)
	}
	if err := os.WriteFile(filepath.Join(other, standsFor), []byte(dir), 0o600); err != nil {
		return "", fmt.Errorf("making a state directory: %w", err)
	}
	link := filepath.Join(dir, elsewhere)
	to, err := os.Readlink(link)
	if err == nil && to == other {
		return other, nil
	}
	if err == nil { // of a directory that was moved: it leads to what stands for the place before
		err = os.Remove(link)
	} else if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	if err = errors.Join(err, os.Symlink(other, link)); err != nil {
		return "", fmt.Errorf("making a state directory: %w", err)
	}
	return other, nil
}

// Elsewhere returns the directory that stands for dir, see [PrivateDir]; ok is false when dir
// stands for itself.
func Elsewhere(dir string) (other string, ok bool) {
	other, err := os.Readlink(filepath.Join(dir, elsewhere))
	return other, err == nil
}

// StandIn is [Elsewhere] for a directory that stands for dir by its own account: whatever else a
// program may have linked there is no state of dir, which may be removed with it.
func StandIn(dir string) (other string, ok bool) {
	other, ok = Elsewhere(dir)
	whole, err := filepath.Abs(dir)
	if !ok || err != nil {
		return "", false
	}
	of, err := os.ReadFile(filepath.Join(other, standsFor))
	return other, err == nil && string(of) == whole
}

// sweepPrivate removes the directories that stand for a directory that is gone.
func sweepPrivate() {
	all, err := filepath.Glob(filepath.Join(systemDir, "*", standsFor))
	if err != nil {
		return
	}
	for _, name := range all {
		b, err := os.ReadFile(name)
		if err != nil || !filepath.IsAbs(string(b)) {
			continue
		}
		if _, err := os.Stat(string(b)); errors.Is(err, os.ErrNotExist) {
			_ = os.RemoveAll(filepath.Dir(name)) // only ours: a plain child of systemDir
		}
	}
}

// reachable reports whether a user may pass through dir and all its parents. Groups and access
// control lists are not counted: a path that only they permit counts as out of reach.
func reachable(dir string, uid uint32) bool {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	for at := dir; ; at = filepath.Dir(at) {
		st, err := os.Stat(at)
		if err != nil {
			return false
		}
		sys, ok := st.Sys().(*syscall.Stat_t)
		if !ok {
			return false
		}
		pass := os.FileMode(0o001)
		if sys.Uid == uid {
			pass = 0o100
		}
		if st.Mode()&pass == 0 {
			return false
		}
		if len(at) == 1 { // the root
			return true
		}
	}
}

// Reachable reports an error when uid could not pass through dir and all its parents; 0 always can.
func Reachable(dir string, uid uint32) error {
	if uid != 0 && !reachable(dir, uid) {
		return fmt.Errorf(
			"user %d cannot reach %s: one of its parents does not permit o+x",
			uid,
			dir,
		)
	}
	return nil
}

// MkdirFor makes a directory that only a user can enter; its parent must exist. Zeros mean
// ourselves.
func MkdirFor(dir string, uid, gid uint32) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("making a directory: %w", err)
	}
	if uid != 0 || gid != 0 {
		if err := os.Lchown(dir, int(uid), int(gid)); err != nil {
			return fmt.Errorf("handing a directory to user %d: %w", uid, err)
		}
	}
	return nil
}

// maxSocketDir leaves room for a socket's file name: the kernel takes paths of at most 107 bytes.
const maxSocketDir = 80

// SocketDir makes a directory for unix sockets that only a user can enter: "socket" in dir, or,
// when that path is too long for a socket, a new one in the directory for temporary files.
func SocketDir(dir string, uid, gid uint32) (string, error) {
	sockets := filepath.Join(dir, "socket")
	if len(sockets) > maxSocketDir {
		tmp, err := os.MkdirTemp("", "plimsoll-")
		if err != nil {
			return "", fmt.Errorf("making a directory for sockets: %w", err)
		}
		sockets = tmp
	}
	return sockets, MkdirFor(sockets, uid, gid)
}
