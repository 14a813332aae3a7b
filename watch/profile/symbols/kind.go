package symbols

// The kinds of functions, as package judge/attribution knows them.
const (
	Own     = "own"     // the program's own code
	Library = "library" // code that the program links, the standard library too
	Runtime = "runtime" // the runtime of its language: collector, scheduler, allocator
	Kernel  = "kernel"  // a system call, a page fault or an interrupt
	Unknown = "unknown" // an address without a symbol
)
