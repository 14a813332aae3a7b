// Package cgroup makes control groups of child processes: they limit CPU time, memory, and writes
// to a disk, count the CPU time of each role, and freeze all processes of a target at once.
//
// A [Group] lives below the group of the root of each controller. The guard of package lab ends its
// processes and removes it when the program is killed; its name begins with lab.Mark, so that
// [Sweep] in a later program finds those that the guard missed. Both versions of control groups are
// supported, and hosts with both: freezing and counting are done by version 2 wherever it is
// mounted, limits by version 1 where its controllers are. A limit that the host's kernel does not
// have is an error, never silence.
//
// # Out of scope
//
// Who is in a group, and why. Of the statistics, it reads the CPU time alone: package probe reads
// the others.
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

// mounted is the directory where control groups are.
const mounted = "/sys/fs/cgroup"

// A Group is one control group, in every controller that it needs. Make it with [Create]. Its
// methods are for one goroutine at a time, [Group.CPUTime] excepted.
type Group struct {
	name  string // below the root of a hierarchy
	root  string
	v2    bool              // the controllers are those of version 2
	made  []string          // directories
	whole *Group            // of a part
	parts map[string]*Group // by role
	done  func()            // nothing is left for the guard

	freezer *freezer // nil before Freezable
	account string   // directory of the group in the hierarchy that counts; empty before Account
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
	if g.whole != nil {
		if _, err := g.whole.dir(controller); err != nil {
			return "", err
		}
	}
	dir := filepath.Join(g.root, controller, g.name)
	var err error
	if g.v2 {
		dir = filepath.Join(g.root, g.name)
		err = write(filepath.Join(filepath.Dir(dir), "cgroup.subtree_control"), "+"+controller)
	}
	if err == nil {
		err = g.mkdir(dir)
	}
	if err != nil {
		return "", fmt.Errorf(
			"control group: the controller %s is not to be had: %w",
			controller,
			err,
		)
	}
	return dir, nil
}

func (g *Group) mkdir(dir string) error {
	err := os.Mkdir(dir, 0o755)
	if err == nil {
		g.made = append(g.made, dir)
	}
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	return err
}

// Part returns the group of one role within g, which is made at the first call. What limits or
// freezes g, limits or freezes its parts. A part has a CPU time of its own, and may have limits; it
// is removed with g. In a hierarchy of version 2, a process that was added to g itself bars limits
// of parts.
func (g *Group) Part(role string) *Group {
	if p := g.parts[role]; p != nil {
		return p
	}
	p := &Group{name: filepath.Join(g.name, role), root: g.root, v2: g.v2, whole: g}
	if g.parts == nil {
		g.parts = map[string]*Group{}
	}
	g.parts[role] = p
	return p
}

// OneHierarchy reports whether a process is in one group for all purposes, as on a host with
// version 2 alone: a statistic of a part, such as how often it was throttled, is then not that of
// the whole.
func (g *Group) OneHierarchy() bool { return g.v2 }

// CPU limits the group to a share of one core per period: 0.25 is a quarter of a core, 2 are two
// cores.
func (g *Group) CPU(cores float64, period time.Duration) error {
	dir, err := g.dir("cpu")
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

// Memory limits how many bytes of memory the group may use, that of files it reads and writes
// included. Beyond it the kernel reclaims memory, and then kills a process of the group. Memory
// that a process used before [Group.Add] does not count. 0 means no limit; the group is made all
// the same.
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

// Writes limits how many writes per second the group may send to the disk that holds path. In
// version 1 only writes that a process waits for count: direct ones, and those that it syncs
// itself.
func (g *Group) Writes(path string, perSecond int) error {
	dev, err := disk(path)
	if err != nil {
		return err
	}
	controller := "blkio"
	file := "blkio.throttle.write_iops_device"
	limit := "%s %d"
	if g.v2 {
		controller = "io"
		file = "io.max"
		limit = "%s wiops=%d"
	}
	dir, err := g.dir(controller)
	if err != nil {
		return err
	}
	return write(filepath.Join(dir, file), fmt.Sprintf(limit, dev, perSecond))
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
	// Limits are set for whole disks.
	if _, err := os.Stat(filepath.Join(sys, "partition")); err == nil {
		b, err := os.ReadFile(filepath.Join(filepath.Dir(sys), "dev"))
		if err != nil {
			return "", fmt.Errorf("control group: finding the disk of %s: %w", path, err)
		}
		dev = strings.TrimSpace(string(b))
	}
	return dev, nil
}

// Add moves a process and all its children, as they are now, into the group, and into the whole
// that it is a part of. Processes that they start later follow them.
func (g *Group) Add(pid int) error {
	dirs := g.made
	if g.whole != nil {
		// The part comes last: two controllers may share one hierarchy.
		dirs = slices.Concat(slices.DeleteFunc(g.whole.Dirs(), func(whole string) bool {
			return slices.ContainsFunc(g.made, func(dir string) bool {
				return filepath.Dir(dir) == whole
			})
		}), g.made)
	}
	for _, dir := range dirs {
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

// Remove removes the group with its parts. Their processes must have ended; the kernel may take a
// moment to notice. A directory that it could not remove stays with the guard and in [Group.Dirs];
// Remove may be called again.
func (g *Group) Remove() error {
	var errs []error
	if g.freezer != nil {
		g.freezer.close()
		g.freezer = nil
	}
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

// remove removes a group and the groups in it: parts, and those that container engines leave there.
func remove(dir string) error {
	var err error
	for range 50 {
		for _, path := range slices.Backward(within(dir)) {
			err = syscall.Rmdir(path)
		}
		if err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("removing a control group: %s: %w", dir, err)
}

// within returns the directories of a group and of the groups in it, outer ones first.
func within(dir string) []string {
	out := []string{dir}
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != dir {
			out = append(out, path)
		}
		return nil // an unreadable entry keeps dir, which is reported
	})
	return out
}

// sweepGrace is the time that processes of a killed program have to end by themselves.
const sweepGrace = 2 * time.Second

// Sweep removes the groups of programs that do not run any more, and returns their directories.
// Processes that are left in them are thawed and, unless they end within 2 seconds, killed; but
// none of another process namespace, whose program may run there under another number.
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
	found = slices.DeleteFunc(found, func(dir string) bool {
		return !lab.Orphan(filepath.Base(dir))
	})
	for _, dir := range found { // all hierarchies before the first is emptied
		thaw(dir)
	}
	var gone []string
	for _, dir := range found {
		empty(dir, sweepGrace)
		if err := remove(dir); err != nil {
			return gone, err
		}
		gone = append(gone, dir)
	}
	return gone, nil
}

// empty waits until a group has no processes, and after the grace kills them.
func empty(dir string, grace time.Duration) {
	for limit := time.Now().Add(grace); ; time.Sleep(10 * time.Millisecond) {
		pids := members(dir)
		if len(pids) == 0 {
			return
		}
		if time.Now().Before(limit) {
			continue
		}
		for _, pid := range pids {
			if ours(pid) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if time.Now().After(limit.Add(time.Second)) {
			return // remove reports it
		}
	}
}

// ours reports whether a process is in this program's process namespace.
func ours(pid int) bool {
	own, err1 := os.Readlink("/proc/self/ns/pid")
	its, err2 := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	return err1 == nil && err2 == nil && own == its
}

// members returns the processes of a group and of those in it.
func members(dir string) (pids []int) {
	for _, d := range within(dir) {
		// none: the group has just been removed
		b, _ := os.ReadFile(filepath.Join(d, "cgroup.procs"))
		for field := range strings.FieldsSeq(string(b)) {
			// 0 is a process of another process namespace, and -0 would be our own group.
			if pid, err := strconv.Atoi(field); err == nil && pid > 1 {
				pids = append(pids, pid)
			}
		}
	}
	return pids
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
