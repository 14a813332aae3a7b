package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/linux"
	"plimsoll/internal/plain"
)

// DefaultStopTimeout is the time that a process has to end after its stop signal before it is
// killed.
const DefaultStopTimeout = 4 * time.Second

// tailBytes is how much of a child's output is kept in memory, and how much of a log file Tail
// reads.
const tailBytes = 16 << 10

// A Spec describes a process to start. Only Path is required.
type Spec struct {
	Name string // name in errors and in the journal; default: Path
	Path string // program; a name without a slash is looked up in PATH
	// arguments without the program's name; visible to every user of the host: no secrets
	Args []string
	Env  []string // whole environment as KEY=value; nil means this program's own
	Dir  string   // working directory; empty means this program's own

	// Stdin is the child's standard input; nil means an empty one.
	Stdin io.Reader

	// Stdout and Stderr receive the output. Nil means a bounded log in memory, which Tail shows. An
	// *os.File is given to the child itself, so that its output costs this program nothing.
	Stdout, Stderr io.Writer

	// UID and GID are the user and group to run as; 0 means this program's own.
	UID, GID uint32

	// CPUs are the cores that the child and its children may use; nil means those of this program.
	CPUs []int

	// NetNS is the path of the network namespace that the child begins in, such as /run/netns/NAME;
	// empty means that of this program. It needs the right to administer the system (root). Mounts
	// stay as they are: /sys/class/net shows the devices of where it was mounted.
	NetNS string

	// Unshare are the namespaces that are new for the child, as flags of clone(2) such as
	// [linux.NewNet]. It needs the right to administer the system (root). Mounts of a new mount
	// namespace are still shared with the old one's.
	Unshare uintptr

	// Quit means that SIGQUIT ends the process at once, too, and that it then removes resources
	// that the kernel would keep, as PostgreSQL does with its shared memory. It comes before every
	// SIGKILL, which follows after a second at most. Should this program be killed, the kernel
	// sends SIGQUIT, and the guard SIGKILL after it.
	Quit bool

	StopSignal os.Signal // signal that Stop sends first; default SIGTERM
	// how long Stop then waits before it kills; default DefaultStopTimeout
	StopTimeout time.Duration

	// Journal is the path of an undo journal that records this process; empty means none.
	Journal string
}

// quitTimeout is the time that a process with Spec.Quit has after SIGQUIT.
const quitTimeout = time.Second

// A Process is a running or ended child, together with its process group. Create it with [Start].
type Process struct {
	name   string
	cmd    *exec.Cmd
	id     Identity
	stop   os.Signal
	quit   bool
	limit  time.Duration
	tail   *ring
	logs   []logFile
	ended  chan struct{}
	err    error // set before ended is closed
	stopMu sync.Mutex
	asked  bool // Stop or Kill was called: the exit status is then no error; under stopMu
	reaped bool // the pid may belong to another process from here on; under stopMu
}

// Start starts a child. The context bounds the start only; the child lives until it ends by itself,
// until [Process.Stop], or until this program ends.
func Start(ctx context.Context, spec Spec) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if spec.Path == "" {
		return nil, errors.New("lab: a process needs a program to start")
	}
	p := &Process{
		name: spec.Name, stop: spec.StopSignal, limit: spec.StopTimeout, quit: spec.Quit,
		tail: new(ring), ended: make(chan struct{}),
	}
	if p.name == "" {
		p.name = spec.Path
	}
	if p.stop == nil {
		p.stop = syscall.SIGTERM
	}
	if p.limit <= 0 {
		p.limit = DefaultStopTimeout
	}
	p.cmd = command(spec, p)

	f, err := theForker()
	if err == nil {
		err = f.start(p.cmd, spec.CPUs, spec.NetNS, spec.Quit)
	}
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", p.name, err)
	}
	pid := p.cmd.Process.Pid
	p.id, err = Identify(pid) // one that has ended already is still a zombie and has an identity
	if err == nil {
		err = journalAppend(spec.Journal, p.name, p.id, false)
	}
	if err != nil {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
		_ = p.cmd.Wait()
		f.guard.forget(pid, p.quit)
		return nil, fmt.Errorf("starting %s: %w", p.name, err)
	}
	// ends with the child, whose end Stop, the guard and the kernel see to
	go p.wait(f, spec.Journal)
	return p, nil
}

// command translates a Spec.
func command(spec Spec, p *Process) *exec.Cmd {
	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Env = spec.Env
	cmd.Dir = spec.Dir
	cmd.Stdin = spec.Stdin
	cmd.Stdout, cmd.Stderr = spec.Stdout, spec.Stderr
	if cmd.Stdout == nil {
		cmd.Stdout = p.tail
	}
	if cmd.Stderr == nil {
		cmd.Stderr = p.tail
	}
	for _, w := range []io.Writer{spec.Stderr, spec.Stdout} {
		if f, ok := w.(*os.File); ok && !slices.ContainsFunc(p.logs, func(l logFile) bool {
			return l.name == f.Name()
		}) {
			p.logs = append(p.logs, newLogFile(f))
		}
	}
	// A grandchild may hold the output pipe open after the child's end; wait ends it, and us, soon
	// after.
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{
		// a group of its own: Stop kills the group, and Ctrl-C of the terminal is ours to handle
		Setpgid: true,
	}
	death := syscall.SIGKILL
	if spec.Quit {
		death = syscall.SIGQUIT
	}
	// The forked child sets the signal after it has changed its user, so the change does not clear
	// it.
	linux.Child(cmd.SysProcAttr, death, spec.Unshare)
	if spec.UID != 0 || spec.GID != 0 {
		cred := &syscall.Credential{Uid: spec.UID, Gid: spec.GID}
		if spec.UID == 0 {
			cred.Uid = uint32(os.Getuid())
		}
		if spec.GID == 0 {
			cred.Gid = uint32(os.Getgid())
		}
		cred.NoSetGroups = os.Geteuid() != 0
		cmd.SysProcAttr.Credential = cred
	}
	return cmd
}

// wait collects the child's end.
func (p *Process) wait(f *forker, journal string) {
	// Until it is reaped, a dead child keeps its pid, so that killing the group that bears the same
	// number cannot hit a stranger: wait for the death first, kill the rest of the group, reap
	// then.
	for {
		err := linux.AwaitDeath(p.id.PID)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	_ = syscall.Kill(-p.id.PID, syscall.SIGKILL)
	f.guard.forget(p.id.PID, p.quit)
	p.stopMu.Lock()
	p.reaped = true
	p.stopMu.Unlock()
	err := p.cmd.Wait()
	p.stopMu.Lock()
	asked := p.asked
	p.stopMu.Unlock()
	switch {
	case errors.Is(err, exec.ErrWaitDelay), asked:
		err = nil
	case err != nil:
		err = fmt.Errorf("%s ended: %w", p.name, err)
	}
	if jerr := journalAppend(journal, p.name, p.id, true); err == nil {
		err = jerr
	}
	p.err = err
	close(p.ended)
}

// PID returns the process id of the child, which is also the id of its process group.
func (p *Process) PID() int { return p.id.PID }

// Identity returns the identity that distinguishes this child from a later process with the same
// pid.
func (p *Process) Identity() Identity { return p.id }

// PIDs returns the process id while the child runs.
func (p *Process) PIDs() []int {
	select {
	case <-p.ended:
		return nil
	default:
		return []int{p.id.PID}
	}
}

// Done returns a channel that is closed when the child has ended and its process group is gone.
func (p *Process) Done() <-chan struct{} { return p.ended }

// Err reports how the child ended: nil while it runs, after exit status 0, and after Stop or Kill.
func (p *Process) Err() error {
	select {
	case <-p.ended:
		return p.err
	default:
		return nil
	}
}

// Tail returns the last lines of the child's output, for error messages; at most 16 KiB from memory
// and from each log file. Of a log file it shows only the part written since the start.
func (p *Process) Tail() string {
	var out strings.Builder
	out.WriteString(p.tail.String())
	for _, l := range p.logs {
		out.WriteString(l.tail())
	}
	return out.String()
}

// Signal sends sig to the child, not to its group. An ended child is not an error.
func (p *Process) Signal(sig os.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("sending %v to %s: %w", sig, p.name, err)
	}
	return nil
}

// Stop sends the stop signal to the child and waits for its end; after the stop timeout, or as soon
// as the context is done, it kills the whole process group. When it returns without error, nothing
// of the group is left. Stopping an ended child is not an error.
func (p *Process) Stop(ctx context.Context) error {
	if ctx.Err() == nil && p.ask(p.stop) {
		p.endsWithin(ctx, p.limit)
	}
	return p.Kill()
}

// StopBy is Stop for a child that ends soon after another process does, such as the one that it
// watches: the stop signal goes to that process. A child that has not ended by the stop timeout is
// stopped itself.
func (p *Process) StopBy(ctx context.Context, other Identity) error {
	if ctx.Err() == nil && p.ask(nil) && other.signal(p.stop) {
		p.endsWithin(ctx, p.limit)
	}
	return p.Stop(ctx)
}

// Kill kills the child and its process group at once, or a second after SIGQUIT (see [Spec]), and
// waits for its end.
func (p *Process) Kill() error {
	if p.quit && p.ask(syscall.SIGQUIT) {
		p.endsWithin(context.Background(), quitTimeout)
	}
	if p.ask(syscall.SIGKILL) {
		p.stopMu.Lock()
		if !p.reaped {
			_ = syscall.Kill(-p.id.PID, syscall.SIGKILL)
		}
		p.stopMu.Unlock()
	}
	if p.endsWithin(context.Background(), 5*time.Second) {
		return nil
	}
	return fmt.Errorf("%s (pid %d) does not end after SIGKILL; is it in uninterruptible sleep?", p.name,
		p.id.PID)
}

// endsWithin waits for the end of the process, and reports whether it came in time.
func (p *Process) endsWithin(ctx context.Context, d time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	select {
	case <-p.ended:
		return true
	case <-ctx.Done():
		return false
	}
}

// ask marks the end of the child as intended and sends it the signal, if there is one, and reports
// whether the child may still run.
func (p *Process) ask(sig os.Signal) bool {
	p.stopMu.Lock()
	p.asked = true
	p.stopMu.Unlock()
	select {
	case <-p.ended:
		return false
	default:
		return sig == nil || p.cmd.Process.Signal(sig) == nil
	}
}

// Run starts a child, waits for its end and reports its exit status as an error that quotes its
// output. It kills the child when the context ends first. It is for short programs such as the ones
// that prepare a data directory.
func Run(ctx context.Context, spec Spec) error {
	p, err := Start(ctx, spec)
	if err != nil {
		return err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("running %s: %w", p.name, context.Cause(ctx)), p.Kill())
	}
	if err := p.Err(); err != nil {
		return p.Failed(err)
	}
	return nil
}

// Failed returns an error of the process with the last lines of its output.
func (p *Process) Failed(err error) error { return fmt.Errorf("%w%w", err, plain.Output(p.Tail())) }

// ParseSignal translates a signal's name ("SIGTERM", "INT", …) for a Spec; empty means nil, the
// default.
func ParseSignal(name string) (os.Signal, error) {
	if name == "" {
		return nil, nil
	}
	for _, n := range []string{name, "SIG" + name} {
		if s := unix.SignalNum(n); s != 0 {
			return s, nil
		}
	}
	return nil, fmt.Errorf("unknown signal %q; want a name such as SIGTERM or SIGINT", name)
}
