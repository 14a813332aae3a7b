// Package cgroup makes control groups that limit the resources of child processes: CPU time, memory, and writes to a
// disk.
//
// A [Group] lives below the group of the root of each controller. The guard of package lab removes it when the
// program is killed; its name begins with lab.Mark, so that [Sweep] in a later program finds those that the guard
// missed. Both versions of control groups are supported; the host's mounts show which one it has. A limit that the
// host's kernel does not have is an error, never silence.
//
// # Out of scope
//
// Who is in a group, and why. It reads no statistics: package probe does.
package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"plimsoll/target/lab"
)

// mounted is where control groups are.
const mounted = "/sys/fs/cgroup"

// A Group is one control group, in every controller that it needs. Make it with [Create].
type Group struct {
	name string
	root string
	v2   bool
	made []string // directories
	done func()   // nothing is left for the guard
}

// Create makes a group whose name ends in role. The caller must call Remove.
func Create(role string) (*Group, error) { return create(mounted, role) }

func create(root, role string) (*Group, error) {
	mark, err := lab.Mark()
	if err != nil {
		return nil, err
	}
	g := &Group{name: mark + "-" + role, root: root}
	// On a host with both, the controllers are where version 1 has them.
	if b, err := os.ReadFile(filepath.Join(root, "cgroup.controllers")); err == nil && len(b) > 0 {
		g.v2 = true
	}
	if root == mounted {
		if g.done, err = lab.UndoCgroup(g.name); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// dir makes the group in a controller and returns its directory.
func (g *Group) dir(controller string) (string, error) {
	dir := filepath.Join(g.root, controller, g.name)
	if g.v2 {
		dir = filepath.Join(g.root, g.name)
		control := filepath.Join(g.root, "cgroup.subtree_control")
		if err := write(control, "+"+controller); err != nil {
			return "", fmt.Errorf("control group: the controller %s is not to be had: %w", controller, err)
		}
	}
	err := os.Mkdir(dir, 0o755)
	if err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("control group: the controller %s is not to be had: %w", controller, err)
	}
	if err == nil {
		g.made = append(g.made, dir)
	}
	return dir, nil
}

// CPU limits the group to a share of one core per period: 0.25 is a quarter of a core, 2 are two cores.
func (g *Group) CPU(cores float64, period time.Duration) error {
	controller := "cpu"
	dir, err := g.dir(controller)
	if err != nil {
		return err
	}
	us := period.Microseconds()
	quota := int64(cores * float64(us))
	if g.v2 {
		return write(filepath.Join(dir, "cpu.max"), fmt.Sprintf("%d %d", quota, us))
	}
	if err := write(filepath.Join(dir, "cpu.cfs_period_us"), fmt.Sprint(us)); err != nil {
		return err
	}
	return write(filepath.Join(dir, "cpu.cfs_quota_us"), fmt.Sprint(quota))
}

// Memory limits how many bytes of memory the group may use, that of files it reads and writes included. Beyond it the
// kernel reclaims memory, and then kills a process of the group. Memory that a process used before [Group.Add] does
// not count. 0 means no limit; the group is made all the same.
func (g *Group) Memory(bytes int64) error {
	dir, err := g.dir("memory")
	if err != nil {
		return err
	}
	file, text := "memory.limit_in_bytes", fmt.Sprint(bytes)
	if bytes == 0 {
		text = "-1"
	}
	if g.v2 {
		file = "memory.max"
		if bytes == 0 {
			text = "max"
		}
	}
	return write(filepath.Join(dir, file), text)
}

// Writes limits how many writes per second the group may send to the disk that holds path. In version 1 only writes
// that a process waits for count: direct ones, and those that it syncs itself.
func (g *Group) Writes(path string, perSecond int) error {
	dev, err := disk(path)
	if err != nil {
		return err
	}
	if g.v2 {
		dir, err := g.dir("io")
		if err != nil {
			return err
		}
		return write(filepath.Join(dir, "io.max"), fmt.Sprintf("%s wiops=%d", dev, perSecond))
	}
	dir, err := g.dir("blkio")
	if err != nil {
		return err
	}
	return write(filepath.Join(dir, "blkio.throttle.write_iops_device"), fmt.Sprintf("%s %d", dev, perSecond))
}

// disk returns the number, as MAJOR:MINOR, of the whole disk below the file system that holds path.
func disk(path string) (string, error) {
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		return "", fmt.Errorf("control group: finding the disk of %s: %w", path, err)
	}
	major, minor := st.Dev>>8&0xfff, st.Dev&0xff|st.Dev>>12&0xfff00
	dev := fmt.Sprintf("%d:%d", major, minor)
	sys, err := filepath.EvalSymlinks("/sys/dev/block/" + dev)
	if err != nil {
		return "", fmt.Errorf("control group: %s is on no disk of this host: %w", path, err)
	}
	if _, err := os.Stat(filepath.Join(sys, "partition")); err == nil { // limits are those of whole disks
		b, err := os.ReadFile(filepath.Join(filepath.Dir(sys), "dev"))
		if err != nil {
			return "", fmt.Errorf("control group: finding the disk of %s: %w", path, err)
		}
		dev = strings.TrimSpace(string(b))
	}
	return dev, nil
}

// Add moves a process and all its children, as they are now, into the group. Processes that they start later
// follow them.
func (g *Group) Add(pid int) error {
	for _, dir := range g.made {
		if err := addTree(dir, pid); err != nil {
			return err
		}
	}
	return nil
}

func addTree(dir string, pid int) error {
	if err := write(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(pid)); err != nil {
		if errors.Is(err, syscall.ESRCH) {
			return nil // it has ended
		}
		return err
	}
	for _, child := range lab.ChildPIDs(pid) {
		if err := addTree(dir, child); err != nil {
			return err
		}
	}
	return nil
}

// Dirs are the group's directories, one per controller in use.
func (g *Group) Dirs() []string { return append([]string{}, g.made...) }

// Remove removes the group, whose processes must have ended; the kernel may take a moment to notice. A directory that
// it could not remove stays with the guard and in [Group.Dirs]; Remove may be called again.
func (g *Group) Remove() error {
	var errs []error
	g.made = slices.DeleteFunc(g.made, func(dir string) bool {
		err := remove(dir)
		errs = append(errs, err)
		return err == nil
	})
	if len(g.made) == 0 && g.done != nil {
		g.done()
		g.done = nil
	}
	return errors.Join(errs...)
}

// remove removes a group and the groups in it, which container engines leave there.
func remove(dir string) error {
	var inner []string
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != dir {
			inner = append(inner, path)
		}
		return nil // an unreadable entry keeps dir, which is reported
	})
	for _, path := range slices.Backward(inner) {
		_ = syscall.Rmdir(path)
	}
	var err error
	for range 50 {
		if err = syscall.Rmdir(dir); err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("removing a control group: %s: %w", dir, err)
}

// Sweep removes the groups of programs that do not run any more, and returns their directories. The processes in them
// must have ended.
func Sweep() ([]string, error) { return sweep(mounted) }

func sweep(root string) ([]string, error) {
	var found []string
	for _, pattern := range []string{"plimsoll-*", "*/plimsoll-*"} {
		some, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	var gone []string
	for _, dir := range found {
		if !lab.Orphan(filepath.Base(dir)) {
			continue
		}
		if err := remove(dir); err != nil {
			return gone, err
		}
		gone = append(gone, dir)
	}
	return gone, nil
}

func write(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("control group: %w", err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("control group: writing %q to %s: %w", text, path, err)
	}
	return nil
}
