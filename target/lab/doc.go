// Package lab runs child processes that never outlive the program that started them.
//
// A load test that leaves a database server behind has spoiled the next test. So a [Process] is
// held three times over, and each hold works without the others:
//
//   - The kernel's parent-death signal kills the child when the program ends in any way, kill -9
//     included. On Linux that signal is tied to the thread that forked, not to the process: every child
//     is therefore forked from one thread that is locked to a goroutine which never returns.
//   - A guard, one /bin/sh that reads a pipe from us, kills the whole process group of every child when
//     the pipe closes. That reaches grandchildren, which the parent-death signal does not. (A
//     grandchild that starts its own process group escapes the guard; a database server's own workers
//     watch their parent by themselves; those that a [Stopper] has stopped are continued for that.) It then removes
//     the namespaces, groups and mounts of the children, see [UndoNetNS], with the processes that are left in the
//     groups.
//   - An optional undo journal ([Spec].Journal) records started processes, so that [Sweep] in a later program can end
//     those that the other two missed. It recognizes a process by pid, start time and boot, so a pid that was given
//     to another process is never touched, and it keeps off while the program that wrote the journal runs.
//
// # Placement
//
// [Spec].CPUs binds a child before its first instruction: the forking thread takes the wanted
// affinity, forks, and takes its own back; a child inherits the affinity of the thread that forked
// it. [PinSelf] does the same to all threads of this program.
//
// [Spec].NetNS puts a child into a network namespace in the same way, and [Spec].Unshare into new
// namespaces of any kind. Subpackage netns makes such namespaces, cgroup makes control groups; both
// name these by [Mark], so that those of a killed program are found by name, see [Orphan].
//
// # State
//
// [ReplaceTree] copies a data directory. In a [Space] that shares blocks the copy of many gigabytes
// takes as long as that of few.
//
// # Out of scope
//
// The purpose of the children. Databases are supervised by subpackages, systems under test by the
// target layer. It speaks no protocol but binding a port to see that it is free.
//
// # Concurrency
//
// All functions and methods may be called from several goroutines.
package lab
