package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"plimsoll/target/lab"
)

// podmanPatience bounds the start of a container, and each question to podman.
const podmanPatience = 30 * time.Second

// A Podman runs containers by the programs podman and runc, as root. Its images, containers and
// logs are in the state directory of each container, its mounts in a mount namespace of its own,
// and its control groups below one that bears this program's mark. Its methods may be called by
// several goroutines.
type Podman struct{ path, runtime, unshare, name string }

// FindPodman returns the engine, or an error that names the missing part.
func FindPodman(ctx context.Context) (*Podman, error) {
	var p Podman
	for _, part := range []struct {
		name string
		to   *string
	}{{"podman", &p.path}, {"runc", &p.runtime}, {"unshare", &p.unshare}, {"conmon", new(string)}} {
		path, err := exec.LookPath(part.name)
		if err != nil {
			return nil, fmt.Errorf(
				"no %s on this host: install it (on Debian: apt-get install podman runc)",
				part.name,
			)
		}
		*part.to = path
	}
	ctx, cancel := context.WithTimeout(ctx, podmanPatience)
	defer cancel()
	var parts []string
	for _, cmd := range [][]string{{p.path, "--version"}, {p.runtime, "--version"}} {
		out, err := exec.CommandContext(ctx, cmd[0], cmd[1:]...).Output()
		if err != nil {
			return nil, fmt.Errorf("asking %s for its version: %w", cmd[0], err)
		}
		// "podman version 4.3.1", "runc version 1.1.5+ds1"
		first, _, _ := strings.Cut(string(out), "\n")
		parts = append(parts, strings.Replace(first, " version ", " ", 1))
	}
	p.name = strings.Join(parts, " with ")
	return &p, nil
}

// Name returns the names and versions of the programs, for manifests and reports.
func (p *Podman) Name() string { return p.name }

// A Job is a program to be run in a container.
type Job struct {
	Spec lab.Spec // as for a process: program and working directory are those of the host
	Name string   // of the container; begins with lab.Mark
	// Directory that the container shares with the host, under the same whole path, and where its
	// root file system goes.
	State string
}

// whole returns the job with whole paths: inside, relative ones would lead elsewhere.
func (j Job) whole() (Job, error) {
	for _, path := range []*string{&j.State, &j.Spec.Dir} {
		abs, err := filepath.Abs(*path)
		if err != nil {
			return j, fmt.Errorf("finding the state directory: %w", err)
		}
		*path = abs
	}
	return j, nil
}

// A Contained process is a container. The embedded process is podman itself, which ends with the
// container.
type Contained struct {
	*lab.Process
	name            string
	monitor, server lab.Identity
	undo            []func()
	grouped         func() // the guard need not remove its control groups
}

// Start starts podman and waits until the container's process is there. The context bounds the
// start only.
func (p *Podman) Start(ctx context.Context, j Job) (*Contained, error) {
	c, err := p.start(ctx, j)
	if err != nil {
		return nil, fmt.Errorf("starting a container by podman: %w", err)
	}
	return c, nil
}

func (p *Podman) start(ctx context.Context, j Job) (_ *Contained, err error) {
	if j, err = j.whole(); err != nil {
		return nil, err
	}
	root := filepath.Join(j.State, "rootfs")
	inside, err := makeRoot(root, j.Spec.Path, j.State)
	if err != nil {
		return nil, err
	}
	own := filepath.Join(j.State, "podman")
	if err := os.RemoveAll(own); err != nil { // left by a killed program
		return nil, err
	}
	if err := os.MkdirAll(own, 0o755); err != nil {
		return nil, err
	}
	pidFile := filepath.Join(own, "pid")
	monitor := filepath.Join(own, "monitor")
	c := &Contained{name: j.Name}
	if c.grouped, err = lab.UndoCgroup(j.Name); err != nil {
		return nil, err
	}
	spec := j.Spec
	// The container alone joins the network: in it runc would take its network for the host's.
	spec.Name = "podman"
	spec.Path = p.unshare
	spec.NetNS = ""
	spec.Args = slices.Concat(
		p.command(own),
		p.arguments(j, pidFile, monitor),
		[]string{"--rootfs", root, inside},
		j.Spec.Args,
	)
	spec.StopTimeout += 2 * time.Second // podman takes down its own setup
	if c.Process, err = lab.Start(ctx, spec); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(c.Process.Failed(err), c.Stop(context.WithoutCancel(ctx)))
		}
	}()
	ctx, cancel := context.WithTimeoutCause(
		ctx,
		podmanPatience,
		fmt.Errorf("no container within %v", podmanPatience),
	)
	defer cancel()
	for file, to := range map[string]*lab.Identity{monitor: &c.monitor, pidFile: &c.server} {
		id, err := c.await(ctx, file)
		if err != nil {
			return nil, err
		}
		// Neither is our child nor in the group of one.
		done, err := lab.Adopt(j.Spec.Journal, "container's "+filepath.Base(file), id)
		if err != nil {
			return nil, err
		}
		c.undo = append(c.undo, done)
		*to = id
	}
	return c, nil
}

// command returns the arguments of unshare up to the verb of podman, which keeps what it stores in
// the directory own. Podman needs short paths: in its own mount namespace the directory is at /mnt.
func (p *Podman) command(own string) []string {
	return []string{
		"--mount",
		"--propagation",
		"private",
		"/bin/sh",
		"-c",
		`mount --bind "$0" /mnt && exec "$@"`,
		own,
		p.path,
		"--root",
		"/mnt/root",
		"--runroot",
		"/mnt/run",
		"--tmpdir",
		"/mnt/tmp",
		"--storage-driver",
		"vfs",
		"--cgroup-manager",
		"cgroupfs",
		"--runtime",
		p.runtime,
		"--events-backend",
		"none",
		"--log-level",
		"error",
	}
}

// arguments returns the arguments of podman run up to the root file system.
func (p *Podman) arguments(j Job, pidFile, monitor string) []string {
	network := "host"
	if j.Spec.NetNS != "" {
		network = "ns:" + j.Spec.NetNS
	}
	args := []string{
		"run",
		"--rm",
		"--name",
		j.Name,
		"--hostname",
		j.Name,
		"--network",
		network,
		"--ipc",
		"none",
		"--log-driver",
		"none",
		"--no-hosts",
		"--pidfile",
		pidFile,
		"--conmon-pidfile",
		monitor,
		"--cgroup-parent",
		"/" + j.Name,
		"--stop-timeout",
		"3",
		"--volume",
		j.State + ":" + j.State,
		"--workdir",
		j.Spec.Dir,
	}
	var lim syscall.Rlimit
	// Podman's default may exceed the limit of this process.
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &lim); err == nil {
		args = append(args, "--ulimit", fmt.Sprintf("nofile=%d:%d", lim.Cur, lim.Max))
	}
	// RLIMIT_NPROC; more than podman left itself is refused without the right to raise limits.
	const nproc, many = 6, 8192
	if err := syscall.Getrlimit(nproc, &lim); err == nil {
		args = append(
			args,
			"--ulimit",
			fmt.Sprintf("nproc=%d:%d", min(lim.Cur, many), min(lim.Max, many)),
		)
	}
	if len(j.Spec.CPUs) > 0 {
		cpus := make([]string, len(j.Spec.CPUs))
		for i, n := range j.Spec.CPUs {
			cpus[i] = strconv.Itoa(n)
		}
		args = append(args, "--cpuset-cpus", strings.Join(cpus, ","))
	}
	for _, kv := range j.Spec.Env {
		name, _, _ := strings.Cut(kv, "=")
		// its value is podman's own: no secret is on a command line
		args = append(args, "--env", name)
	}
	return args
}

// await reads a process id from a file that podman writes.
func (c *Contained) await(ctx context.Context, file string) (lab.Identity, error) {
	t := time.NewTicker(5 * time.Millisecond)
	defer t.Stop()
	for {
		if b, err := os.ReadFile(file); err == nil {
			if pid, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
				return lab.Identify(pid)
			}
		}
		select {
		case <-c.Process.Done():
			return lab.Identity{}, errors.New("podman ended before there was a container")
		case <-ctx.Done():
			return lab.Identity{}, context.Cause(ctx)
		case <-t.C:
		}
	}
}

// PID returns the process of the server in the container, as the host sees it.
func (c *Contained) PID() int {
	if c.server.PID == 0 {
		return c.Process.PID()
	}
	return c.server.PID
}

// Stop sends the stop signal to the server, waits for podman to end with it, and kills the
// remaining processes. Podman is not asked to pass the signal on: one that does not yet do so would
// end at once, without the server's output.
func (c *Contained) Stop(ctx context.Context) error {
	err := c.Process.StopBy(ctx, c.server)
	// The monitor ends by itself.
	for id, grace := range map[lab.Identity]time.Duration{c.server: 0, c.monitor: time.Second} {
		if id.PID != 0 {
			err = errors.Join(err, id.Terminate(context.WithoutCancel(ctx), syscall.SIGTERM, grace))
		}
	}
	for _, done := range c.undo {
		done()
	}
	c.undo = nil
	for range 50 { // the kernel takes a moment to notice that they are empty
		if removeGroups(c.name) {
			c.grouped()
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

// removeGroups removes the control groups that podman made and left, and reports whether none is
// there.
func removeGroups(name string) (gone bool) {
	gone = true
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
				_ = syscall.Rmdir(dir)
			}
			if _, err := os.Stat(top); err == nil {
				gone = false
			}
		}
	}
	return gone
}

// Watched returns the server in the container, which ends with podman, for a [lab.Crashes].
func (c *Contained) Watched() lab.Watched {
	w := c.Process.Watched()
	w.PID = c.PID()
	return w
}
