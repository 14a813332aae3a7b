// Package profile samples the call stacks of the processes of a target, without asking it.
//
// # How
//
// The kernel samples. A [Sampler] opens one event (perf_event_open, software clock of the CPU, 331
// times a second) for each CPU on which the target may run, and keeps the samples of the processes
// of its roles: those that the roles name, and all that these start. A sample is the user part of a
// call chain, by frame pointers, below which the kernel's part is one frame: the system call, page
// fault or interrupt that was under way.
//
// A program without the right to events of a CPU samples its own children, in user space alone. A
// server elsewhere is sampled by its own page of net/http/pprof ([PprofPage]), if the plan names it.
//
// # What is kept
//
// Addresses are kept as offsets in files, which stay open: a binary that was deleted or replaced is
// read all the same. Stacks are counted, so that memory does not grow with time: at most 30 MB in
// 90 minutes.
//
// # When
//
// A sampler samples while its gate is open ([Sampler.Gate]): in the measured phase, and in a duet
// in the turns of its own arm.
//
// # Out of scope
//
// It does not judge: what a difference between two profiles means is for judge/attribution. Without
// frame pointers, as most distributions build C, a stack is its innermost function.
package profile
