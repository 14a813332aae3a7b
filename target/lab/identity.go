package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// An Identity distinguishes a process from every other one, also from a later one with the same
// pid.
type Identity struct {
	PID int `json:"pid"`
	// field 22 of /proc/PID/stat: clock ticks from boot to the start of the process
	Start uint64 `json:"start"`
	Boot  string `json:"boot"` // the kernel's id of this boot
}

// Identify returns the identity of a process that exists now.
func Identify(pid int) (Identity, error) {
	start, _, err := procStat(pid)
	if err != nil {
		return Identity{}, err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Identity{}, fmt.Errorf("reading the id of this boot: %w", err)
	}
	return Identity{PID: pid, Start: start, Boot: strings.TrimSpace(string(boot))}, nil
}

// Mark returns text of letters, digits and dashes for the names of things that belong to this
// program and outlive it when it is killed, such as network namespaces and control groups. [Orphan]
// recognizes them later: the name is the undo journal.
func Mark() (string, error) {
	id, err := Identify(os.Getpid())
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("plimsoll-%d-%d", id.PID, id.Start), nil
}

// Orphan reports whether name begins with the [Mark] of a program that does not run any more.
func Orphan(name string) bool {
	part := strings.Split(name, "-")
	if len(part) < 3 || part[0] != "plimsoll" {
		return false
	}
	pid, err1 := strconv.Atoi(part[1])
	start, err2 := strconv.ParseUint(part[2], 10, 64)
	if err1 != nil || err2 != nil {
		return false
	}
	now, err := Identify(pid)
	return err != nil || now.Start != start || !now.Alive()
}

// Alive reports whether this very process still runs; a zombie does not.
func (id Identity) Alive() bool {
	now, err := Identify(id.PID)
	if err != nil || now != id {
		return false
	}
	_, state, err := procStat(id.PID)
	return err == nil && state != 'Z' && state != 'X'
}

// signal sends sig to a process that need not be our child, and reports whether it was there to
// have it.
func (id Identity) signal(sig os.Signal) bool {
	if !id.Alive() {
		return false
	}
	// holds a handle, so that the pid cannot change its owner from here on
	p, err := os.FindProcess(id.PID)
	if err != nil {
		return false
	}
	defer func() { _ = p.Release() }()
	return id.Alive() && p.Signal(sig) == nil
}

// Terminate ends a process that need not be our child: it sends sig, waits for at most grace, then
// kills the process and, when it leads a process group, the group. It does nothing when the process
// is gone. A stopped process, and those that it has started, are continued, so that the signal has
// an effect.
func (id Identity) Terminate(ctx context.Context, sig syscall.Signal, grace time.Duration) error {
	if !id.Alive() {
		return nil
	}
	// holds a handle, so that the pid cannot change its owner from here on
	p, err := os.FindProcess(id.PID)
	if err != nil {
		return fmt.Errorf("ending process %d: %w", id.PID, err)
	}
	defer func() { _ = p.Release() }()
	if !id.Alive() {
		return nil
	}
	if err := p.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("ending process %d: %w", id.PID, err)
	}
	continueTree(id.PID)
	if id.waitGone(ctx, grace) {
		return nil
	}
	if pgid, err := syscall.Getpgid(id.PID); err == nil && pgid == id.PID && id.Alive() {
		_ = syscall.Kill(-pgid, syscall.SIGKILL)
	}
	if err := p.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing process %d: %w", id.PID, err)
	}
	if id.waitGone(context.WithoutCancel(ctx), 5*time.Second) {
		return nil
	}
	return fmt.Errorf("process %d does not end after SIGKILL", id.PID)
}

// waitGone polls, because only a parent is notified of an end.
func (id Identity) waitGone(ctx context.Context, limit time.Duration) bool {
	deadline := time.Now().Add(limit)
	for id.Alive() {
		if ctx.Err() != nil || time.Now().After(deadline) {
			return !id.Alive()
		}
		time.Sleep(5 * time.Millisecond)
	}
	return true
}

// procStat returns the start time and the state letter of a process.
func procStat(pid int) (start uint64, state byte, err error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0, fmt.Errorf("looking at process %d: %w", pid, err)
	}
	// The second field is the program's name in parentheses, which may itself hold spaces and
	// parentheses.
	i := strings.LastIndexByte(string(b), ')')
	fields := strings.Fields(string(b[i+1:]))
	if i < 0 || len(fields) < 20 {
		return 0, 0, fmt.Errorf("looking at process %d: unexpected form of /proc/%d/stat", pid, pid)
	}
	start, err = strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("looking at process %d: %w", pid, err)
	}
	return start, fields[0][0], nil
}

// A journalLine is one line of an undo journal: a process was started, or it has ended.
type journalLine struct {
	Leftover
	Ended bool `json:"ended,omitempty"`
}

// journalAppend adds a line to a journal, if there is one. One write to a file opened for appending
// is atomic among processes.
func journalAppend(path, name string, id Identity, ended bool) error {
	if path == "" {
		return nil
	}
	owner, err := Identify(os.Getpid())
	if err == nil {
		err = journalLine{Leftover{name, id, owner}, ended}.append(path)
	}
	if err != nil {
		return fmt.Errorf("undo journal: %w", err)
	}
	return nil
}

func (line journalLine) append(path string) error {
	b, err := json.Marshal(line)
	if err != nil {
		return err
	}
	if err := MkdirState(filepath.Dir(path)); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	return errors.Join(err, f.Close())
}

// A Leftover is a process that an undo journal records and that still runs.
type Leftover struct {
	Name string `json:"name"`
	Identity
	Owner Identity `json:"owner"` // the program that started it
}

// Leftovers reads an undo journal and returns the processes that still run, oldest first. A missing
// journal yields none; a last line cut short by a crash is skipped.
func Leftovers(journal string) ([]Leftover, error) {
	f, err := os.Open(journal)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("undo journal: %w", err)
	}
	defer f.Close()
	var left []Leftover
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var line journalLine
		if json.Unmarshal(sc.Bytes(), &line) != nil || line.PID <= 1 {
			continue
		}
		left = slices.DeleteFunc(left, func(l Leftover) bool { return l.Identity == line.Identity })
		if !line.Ended {
			left = append(left, line.Leftover)
		}
	}
	return slices.DeleteFunc(left, func(l Leftover) bool { return !l.Alive() }), nil
}

// ErrInUse is returned by Sweep when the program that wrote the journal still runs.
var ErrInUse = errors.New("the state directory is in use")

// Sweep ends all processes that an undo journal records, newest first, each with SIGTERM and after
// grace with SIGKILL; then it removes the journal. It returns the ended processes. When a program
// that still runs, this one included, owns one of the processes, it ends nothing and returns
// ErrInUse.
func Sweep(ctx context.Context, journal string, grace time.Duration) ([]Leftover, error) {
	left, err := Leftovers(journal)
	if err != nil {
		return nil, err
	}
	for _, l := range left {
		if l.Owner.Alive() {
			return nil, fmt.Errorf(
				"%w: process %d runs %s (pid %d) there, according to %s; stop it or choose another directory",
				ErrInUse,
				l.Owner.PID,
				l.Name,
				l.PID,
				journal,
			)
		}
	}
	slices.Reverse(left)
	for _, l := range left {
		if err := l.Terminate(ctx, syscall.SIGTERM, grace); err != nil {
			return left, fmt.Errorf("ending %s left over from an earlier run: %w", l.Name, err)
		}
	}
	if err := os.Remove(journal); err != nil && !errors.Is(err, os.ErrNotExist) {
		return left, fmt.Errorf("undo journal: %w", err)
	}
	return left, nil
}
