package cgroup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// A freezer is the part of a group that freezes. Its files stay open: freezing is done many times a
// second.
type freezer struct {
	control, state *os.File
	freeze, thaw   string // what is written to control
	frozen         []byte // the part of state that reports that every process is frozen
	// the order is repeated: version 1 misses processes that were being started
	again bool
}

// unified returns the mount of version 2; empty where there is none.
func unified(root string) string {
	for _, dir := range []string{root, filepath.Join(root, "unified")} {
		if _, err := os.Stat(filepath.Join(dir, "cgroup.controllers")); err == nil {
			return dir
		}
	}
	return ""
}

// core makes the group in the hierarchy of version 2, for the abilities that need no controller.
func (g *Group) core(mount string) (string, error) {
	if g.whole != nil {
		if _, err := g.whole.core(mount); err != nil {
			return "", err
		}
	}
	dir := filepath.Join(mount, g.name)
	return dir, g.mkdir(dir)
}

// Freezable prepares the group for [Group.Freeze]. Only processes that are added afterwards are
// frozen. It is an error on a host whose kernel cannot freeze groups, or whose groups this program
// may not make.
func (g *Group) Freezable() error {
	if g.freezer != nil {
		return nil
	}
	if g.whole != nil {
		return errors.New("control group: a part is frozen with its whole")
	}
	if mount := unified(g.root); mount != "" {
		dir, err := g.core(mount)
		if err != nil {
			return fmt.Errorf("control group: freezing: %w", err)
		}
		g.freezer, err = openFreezer(
			filepath.Join(dir, "cgroup.freeze"),
			filepath.Join(dir, "cgroup.events"),
			freezer{freeze: "1", thaw: "0", frozen: []byte("frozen 1\n")},
		)
		if !errors.Is(err, os.ErrNotExist) { // a kernel before 5.2
			return err
		}
	}
	dir, err := g.dir("freezer")
	if err != nil {
		return err
	}
	state := filepath.Join(dir, "freezer.state")
	g.freezer, err = openFreezer(state, state, freezer{
		freeze: "FROZEN",
		thaw:   "THAWED",
		frozen: []byte("FROZEN\n"),
		again:  true,
	})
	return err
}

func openFreezer(control, state string, f freezer) (*freezer, error) {
	var err error
	if f.control, err = os.OpenFile(control, os.O_WRONLY, 0); err != nil {
		return nil, fmt.Errorf("control group: freezing: %w", err)
	}
	if f.state, err = os.Open(state); err != nil {
		_ = f.control.Close()
		return nil, fmt.Errorf("control group: freezing: %w", err)
	}
	return &f, nil
}

func (f *freezer) close() {
	_ = f.control.Close() // nothing is buffered
	_ = f.state.Close()
}

func (f *freezer) order(text string) error {
	if _, err := f.control.WriteAt([]byte(text), 0); err != nil {
		return fmt.Errorf("control group: writing %q to %s: %w", text, f.control.Name(), err)
	}
	return nil
}

// Times of the wait for the kernel, which usually takes less than a millisecond.
const (
	firstLook  = 20 * time.Microsecond
	longLook   = time.Millisecond
	orderAgain = 5 * time.Millisecond
)

// Freeze stops all processes of the group and its parts, and returns when the kernel reports that
// none of them runs. When ctx ends before, the group is thawed, and the error is the cause of ctx.
// [Group.Freezable] comes first.
func (g *Group) Freeze(ctx context.Context) error {
	f := g.freezer
	if f == nil {
		return errors.New("control group: freezing one that is not freezable")
	}
	if err := f.order(f.freeze); err != nil {
		return errors.Join(err, g.Thaw())
	}
	text := make([]byte, 128)
	ordered := time.Now()
	for look := firstLook; ; look = min(2*look, longLook) {
		n, err := f.state.ReadAt(text, 0) // an error is mostly the end of the file
		if bytes.Contains(text[:n], f.frozen) {
			return nil
		}
		if n == 0 {
			return errors.Join(
				fmt.Errorf("control group: reading %s: %w", f.state.Name(), err),
				g.Thaw(),
			)
		}
		if ctx.Err() != nil {
			return errors.Join(
				fmt.Errorf("control group: %s: freezing: %w", f.control.Name(), context.Cause(ctx)),
				g.Thaw(),
			)
		}
		if f.again && time.Since(ordered) > orderAgain {
			if err := f.order(f.freeze); err != nil {
				return errors.Join(err, g.Thaw())
			}
			ordered = time.Now()
		}
		time.Sleep(look)
	}
}

// Thaw lets the processes of a frozen group go on. Thawing one that is not frozen does nothing.
func (g *Group) Thaw() error {
	if g.freezer == nil {
		return nil
	}
	return g.freezer.order(g.freezer.thaw)
}

// thaw thaws a group by its directory. Where it cannot freeze, there is nothing
// to do.
func thaw(dir string) {
	for name, text := range map[string]string{"cgroup.freeze": "0", "freezer.state": "THAWED"} {
		if f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0); err == nil {
			_, _ = f.WriteString(text) // else its processes do not end, which is reported
			_ = f.Close()
		}
	}
}
