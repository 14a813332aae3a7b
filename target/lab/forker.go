package lab

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"unicode"

	"golang.org/x/sys/unix"

	"plimsoll/internal/linux"
)

// A forker is the one thread that forks all children; see the package comment for why.
type forker struct {
	jobs  chan func()
	guard *guard
	// the thread could not return from a network namespace: it forks no more; on the thread
	lost error
}

// theForker is process-wide state, on purpose: the parent-death signal is tied to a thread, and
// that thread has to live exactly as long as the program. It is made on first use.
var theForker = sync.OnceValues(func() (*forker, error) {
	f := &forker{jobs: make(chan func())}
	OnThread(func() { // which never returns: the thread would end, and its children with it
		for job := range f.jobs {
			job()
		}
	})
	var err error
	f.do(func() { f.guard, err = startGuard() })
	return f, err
})

// do runs job on the forking thread and waits for it.
func (f *forker) do(job func()) {
	done := make(chan struct{})
	f.jobs <- func() {
		defer close(done)
		job()
	}
	<-done
}

// start starts a command bound to cpus (nil: as this program is bound), in a network namespace ("":
// that of this program), and registers it with the guard; quit as [Spec.Quit].
func (f *forker) start(cmd *exec.Cmd, cpus []int, netns string, quit bool) (err error) {
	f.do(func() {
		if err = f.lost; err != nil {
			return
		}
		if netns != "" {
			var back func() error
			if back, err = enter(netns); err != nil {
				return
			}
			defer func() { f.lost = back() }()
		}
		if cpus != nil {
			var old linux.CPUSet
			if err = linux.Affinity(0, &old); err != nil {
				err = fmt.Errorf("reading the CPU affinity: %w", err)
				return
			}
			if err = setAffinity(0, cpus); err != nil {
				return
			}
			defer func() { _ = linux.SetAffinity(0, &old) }()
		}
		if err = cmd.Start(); err == nil {
			f.guard.watch(cmd.Process.Pid, quit)
		}
	})
	return err
}

// enter moves the calling thread into a network namespace; a child inherits that of the thread that
// forked it. back returns to where it was.
func enter(netns string) (back func() error, err error) {
	old, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("reading the network namespace: %w", err)
	}
	fd, err := unix.Open(netns, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		_ = unix.Close(old)
		return nil, fmt.Errorf("network namespace %s: %w", netns, err)
	}
	err = linux.EnterNet(fd)
	_ = unix.Close(fd)
	if err != nil {
		_ = unix.Close(old)
		return nil, fmt.Errorf("entering network namespace %s: %w", netns, err)
	}
	return func() error {
		defer unix.Close(old)
		if err := linux.EnterNet(old); err != nil {
			return fmt.Errorf("leaving network namespace %s: %w", netns, err)
		}
		return nil
	}, nil
}

// A guard is a shell that kills process groups, and then removes named objects, when this program
// is gone. It learns of groups by lines "+ PGID" and "- PGID", of those whose leader gets SIGQUIT
// first by "+q PGID" and "-q PGID", of other processes that may be stopped by "+s PID" and "-s PID"
// (see [Stopper]), and of names by "+n NAME", "-n NAME", "+c NAME", "-c NAME", "+m NAME" and "-m
// NAME" (see [UndoNetNS], [UndoCgroup] and [UndoImage]) on its standard input, whose end means that
// no process holds the other end anymore.
type guard struct {
	mu sync.Mutex
	in io.Writer // nil: no shell on this host; the parent-death signal has to do
}

// A stopped process, or one of a frozen control group, keeps its signals for later: SIGQUIT has an
// effect only after it was continued, and version 1 of control groups holds back even SIGKILL. A
// control group is gone only when its processes have been reaped, which takes a moment.
//
// A process of PostgreSQL that is killed leaves its shared memory. hold stops those of the groups,
// and their children, which lead groups of their own, and notes the memory that they have mapped;
// the inode of a System V segment is its id. wipe kills them and removes it, with the files that a
// control segment lists: after a magic number, a number and a count of uses in each item.
const guardScript = `trap '' HUP INT TERM QUIT
g=' ' q=' ' s=' ' n=' ' c=' ' m=' ' held='' files='' ids=''
hold() {
  for d in /proc/[0-9]*; do
    read -r pid comm state parent group rest <"$d/stat" || continue
    [ "$comm" = '(postgres)' ] || continue
    case $1 in *" $parent "* | *" $group "*) ;; *) continue ;; esac
    kill -s STOP "$pid"
    held="$held $pid"
    files="$files $(sed -n 's|.* \(/dev/shm/PostgreSQL\.[0-9]*\)$|\1|p' "$d/maps")"
    ids="$ids $(sed -n 's|.* \([0-9][0-9]*\) */SYSV[0-9a-f]* (deleted)$|\1|p' "$d/maps")"
  done
}
wipe() {
  for p in $held; do kill -s KILL "$p"; done
  for f in $files; do
    [ -e "$f" ] || continue
    if [ "$(od -A n -t u4 -N 4 "$f")" -eq 2589998386 ]; then
      od -A n -v -t u4 -j 16 -w40 "$f" | while read -r number uses rest; do
        [ "$uses" = 0 ] || rm -f "/dev/shm/PostgreSQL.$number"
      done
    fi
    rm -f "$f"
  done
  for p in $ids; do ipcrm -m "$p"; done
}
while read -r op p; do
  case $op in
  +) g="$g$p " ;;
  -) g="${g%% $p *} ${g#* $p }" ;;
  +q) q="$q$p " ;;
  -q) q="${q%% $p *} ${q#* $p }" ;;
  +s) s="$s$p " ;;
  -s) s="${s%% $p *} ${s#* $p }" ;;
  +n) n="$n$p " ;;
  -n) n="${n%% $p *} ${n#* $p }" ;;
  +c) c="$c$p " ;;
  -c) c="${c%% $p *} ${c#* $p }" ;;
  +m) m="$m$p " ;;
  -m) m="${m%% $p *} ${m#* $p }" ;;
  esac
done
for p in $q; do kill -s QUIT "$p"; done
hold "$g"
for p in $g; do kill -s KILL -- "-$p"; done
for p in $s; do kill -s CONT "$p"; done
for p in $q; do kill -s CONT -- "-$p"; done
for p in $c; do
  for d in "/sys/fs/cgroup/$p" /sys/fs/cgroup/*/"$p"; do
    [ -e "$d/cgroup.freeze" ] && echo 0 >"$d/cgroup.freeze"
    [ -e "$d/freezer.state" ] && echo THAWED >"$d/freezer.state"
  done
done
i=0
while [ $i -lt 20 ]; do
  left=''
  for p in $q; do kill -s 0 "$p" 2>/dev/null && left=yes; done
  [ -n "$left" ] || break
  i=$((i + 1))
  sleep 0.05
done
hold "$q"
for p in $q; do kill -s KILL -- "-$p"; done
wipe
for p in $n; do
  umount -l "/run/netns/$p" 2>/dev/null
  rm -f "/run/netns/$p"
done
for p in $c; do
  i=0
  while [ $i -lt 50 ]; do
    left=''
    for d in "/sys/fs/cgroup/$p" /sys/fs/cgroup/*/"$p"; do
      [ -d "$d" ] || continue
      find "$d" -name cgroup.procs -exec cat {} + 2>/dev/null | while read -r left; do
        [ "$left" -gt 1 ] && kill -s KILL "$left"
      done
      find "$d" -depth -type d -exec rmdir {} \; 2>/dev/null
      [ -d "$d" ] && left=yes
    done
    [ -n "$left" ] || break
    i=$((i + 1))
    sleep 0.1
  done
done
for p in $m; do
  umount -l "/run/plimsoll/$p" 2>/dev/null
  rmdir "/run/plimsoll/$p" 2>/dev/null
done
`

// UndoNetNS and UndoCgroup make sure that a named network namespace, or a control group of any
// controller with all groups in it, is removed when this program has ended in any way, kill -9
// included, and its children with it. A frozen group is thawed, and processes that are left in it
// are killed. The names begin with [Mark]. done is to be called when the caller has removed it by
// itself. If the guard is killed before it does this, a later program finds the name, see [Orphan].
func UndoNetNS(name string) (done func(), err error) { return undo('n', name) }

// UndoCgroup is described with [UndoNetNS].
func UndoCgroup(name string) (done func(), err error) { return undo('c', name) }

// UndoImage makes sure that the image of a [Space] that is mounted under a name is unmounted, as
// [UndoNetNS] does.
func UndoImage(name string) (done func(), err error) { return undo('m', name) }

func undo(kind byte, name string) (done func(), err error) {
	mark, err := Mark()
	if err != nil {
		return nil, err
	}
	if rest, ok := strings.CutPrefix(name, mark+"-"); !ok ||
		strings.ContainsFunc(rest, func(r rune) bool {
			return r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}) {
		return nil, fmt.Errorf("lab: %q is not a name of this program", name)
	}
	f, err := theForker()
	if err != nil {
		return nil, err
	}
	f.guard.say("+%c %s\n", kind, name)
	return func() { f.guard.say("-%c %s\n", kind, name) }, nil
}

// startGuard is called on the forking thread, by whose affinity the guard stays.
func startGuard() (*guard, error) {
	sh, err := exec.LookPath("/bin/sh")
	if err != nil {
		return &guard{}, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making the guard's pipe: %w", err)
	}
	defer r.Close()
	cmd := exec.Command(sh, "-c", guardScript)
	cmd.Stdin = r
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // out of reach of a kill of our own group
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil, fmt.Errorf("starting the guard: %w", err)
	}
	go func() { _ = cmd.Wait() }() // reaps the guard if it is killed; ends with the program
	return &guard{in: w}, nil
}

func (g *guard) watch(pgid int, quit bool)  { g.say("+%s %d\n", listOf(quit), pgid) }
func (g *guard) forget(pgid int, quit bool) { g.say("-%s %d\n", listOf(quit), pgid) }

// listOf names the guard's list of groups: "q" of those whose leader gets SIGQUIT first. A group
// must be taken out of the list that it is in: the guard's shell would double the other one.
func listOf(quit bool) string {
	if quit {
		return "q"
	}
	return ""
}

func (g *guard) say(format string, args ...any) {
	if g.in == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	// A guard that was killed is not replaced: the parent-death signal and the journal remain.
	_, _ = fmt.Fprintf(g.in, format, args...)
}

// Adopt makes this program answer for a process that it did not start itself, but that a child of
// its did: when this program ends in any way, the guard kills the process and, when it leads one,
// its process group. The undo journal, unless it is empty, records it. done is to be called when
// the process has ended.
func Adopt(journal, name string, id Identity) (done func(), err error) {
	f, err := theForker()
	if err != nil {
		return nil, err
	}
	if err := journalAppend(journal, name, id, false); err != nil {
		return nil, err
	}
	f.guard.watch(id.PID, false)
	return func() {
		f.guard.forget(id.PID, false)
		_ = journalAppend(journal, name, id, true) // more than its number identifies it
	}, nil
}
