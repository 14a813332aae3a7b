package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// initArg is the first argument of a program that is to become the first process of a container.
const initArg = "-container-init"

// An initSpec configures it; it is the second argument. It holds no secrets: every user can see it.
type initSpec struct {
	Outer  string   // the mount namespace of the starting process
	Root   string   // directory that becomes the root file system
	Mounts []string // directories of the host that are there under the same paths
	Name   string   // of the host, inside
	Dir    string   // working directory, inside
	Path   string   // program, inside
	Args   []string // its arguments, without its name
}

// Init must be called first by the main function of every program that uses [Namespaces]. In the first process of a
// container it becomes the program that the container is for and does not return, or ends with status 125; in all
// others it does nothing.
func Init() {
	if len(os.Args) != 3 || os.Args[1] != initArg {
		return
	}
	runtime.LockOSThread() // capabilities are those of a thread
	var s initSpec
	err := json.Unmarshal([]byte(os.Args[2]), &s)
	if err == nil {
		err = s.enter()
	}
	if err == nil {
		err = syscall.Exec(s.Path, append([]string{s.Path}, s.Args...), os.Environ())
	}
	fmt.Fprintf(os.Stderr, "container: starting %s: %v\n", s.Path, err)
	os.Exit(125)
}

// mountNS names the mount namespace of the reading process.
const mountNS = "/proc/self/ns/mnt"

// devices are those that a server may use.
var devices = []string{"null", "zero", "random", "urandom"}

// enter changes this process, which is in new namespaces, to the root file system of the container, and gives up its
// capabilities.
func (s initSpec) enter() error {
	// In the mount namespace of the host these mounts would be the host's.
	own, err := os.Readlink(mountNS)
	if err != nil {
		return err
	}
	if own == s.Outer || os.Getpid() != 1 {
		return errors.New("it is not in namespaces of its own")
	}
	mount := func(source, dir, kind string, flags uintptr) error {
		if err := unix.Mount(source, dir, kind, flags, ""); err != nil {
			return fmt.Errorf("mounting %s: %w", dir, err)
		}
		return nil
	}
	if err := mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE); err != nil {
		return err
	}
	if err := mount(s.Root, s.Root, "", unix.MS_BIND); err != nil {
		return err
	}
	const still = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := mount("proc", filepath.Join(s.Root, "proc"), "proc", still); err != nil {
		return err
	}
	// Go's runtime reads the size of huge pages.
	if err := mount("sysfs", filepath.Join(s.Root, "sys"), "sysfs", still|unix.MS_RDONLY); err != nil {
		return err
	}
	for _, dir := range []string{"tmp", "dev"} {
		if err := mount("tmpfs", filepath.Join(s.Root, dir), "tmpfs", unix.MS_NOSUID); err != nil {
			return err
		}
	}
	for _, name := range devices {
		at := filepath.Join(s.Root, "dev", name)
		if err := os.WriteFile(at, nil, 0o666); err != nil {
			return err
		}
		if err := mount("/dev/"+name, at, "", unix.MS_BIND); err != nil {
			return err
		}
	}
	for _, dir := range s.Mounts { // last: they may be below /tmp
		at := filepath.Join(s.Root, dir)
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		if err := mount(dir, at, "", unix.MS_BIND); err != nil {
			return err
		}
	}
	if err := unix.Chdir(s.Root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil { // the old root lies over the new one, and is taken off next
		return fmt.Errorf("changing the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("taking off the old root: %w", err)
	}
	if err := unix.Chdir(s.Dir); err != nil {
		return fmt.Errorf("going to %s: %w", s.Dir, err)
	}
	if err := unix.Sethostname([]byte(s.Name)); err != nil {
		return fmt.Errorf("setting the name: %w", err)
	}
	return powerless()
}

// powerless gives up all capabilities, also for its children.
func powerless() error {
	for c := uintptr(0); ; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) { // the kernel has no more of them
			break
		}
		if err != nil {
			return fmt.Errorf("giving up capability %d: %w", c, err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up new privileges: %w", err)
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&hdr, &none[0]); err != nil {
		return fmt.Errorf("giving up capabilities: %w", err)
	}
	return nil
}
