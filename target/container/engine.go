package container

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"plimsoll/target/lab"
)

// A Process is a running server: a [lab.Process], or a container.
type Process interface {
	// PID is the process of the server itself, as this program sees it.
	PID() int
	Done() <-chan struct{}
	Err() error
	Tail() string
	Stop(ctx context.Context) error
}

// An Engine runs containers. Its methods may be called by several goroutines.
type Engine interface {
	// Name returns the name and version of the engine, for manifests and reports.
	Name() string
	// Start starts a container. The context bounds the start only.
	Start(ctx context.Context, j Job) (Process, error)
}

// A Job is a program to be run in a container.
type Job struct {
	Spec lab.Spec // as for a process: program and working directory are those of the host
	Name string   // of the container; begins with lab.Mark
	// Directory that the container shares with the host, under the same whole path, and where its root file system goes.
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

// Namespaces is the engine that needs no other program.
type Namespaces struct{}

// Name implements [Engine].
func (Namespaces) Name() string {
	var u unix.Utsname
	_ = unix.Uname(&u) // cannot fail with a good pointer
	return "own namespaces, Linux " + unix.ByteSliceToString(u.Release[:])
}

// Start implements [Engine]: it makes the root file system and starts this program again as the container's
// first process, see [Init].
func (Namespaces) Start(ctx context.Context, j Job) (Process, error) {
	j, err := j.whole()
	if err != nil {
		return nil, err
	}
	root, inside, err := j.makeRoot()
	if err != nil {
		return nil, err
	}
	outer, err := os.Readlink(mountNS)
	if err != nil {
		return nil, fmt.Errorf("starting a container: %w", err)
	}
	arg, err := json.Marshal(initSpec{Outer: outer, Root: root, Mounts: []string{j.State}, Name: j.Name, Dir: j.Spec.Dir, Path: inside, Args: j.Spec.Args})
	if err != nil {
		return nil, fmt.Errorf("starting a container: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	spec := j.Spec
	spec.Path, spec.Args = self, []string{initArg, string(arg)}
	spec.Dir = "" // it is gone to when it is there
	spec.Unshare |= unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC
	p, err := lab.Start(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("starting a container: %w", err)
	}
	return p, nil
}
