package attribution

// A Kind is the origin of a function.
type Kind string

// The kinds of functions.
const (
	Own     Kind = "own"     // the program's own code
	Library Kind = "library" // code that the program links, the standard library too
	Runtime Kind = "runtime" // the runtime of its language: collector, scheduler, allocator
	Kernel  Kind = "kernel"  // a system call, a page fault or an interrupt
	Unknown Kind = "unknown" // an address without a symbol
)

// A Function is one function of a program. Two functions are the same if they are equal.
type Function struct {
	Name   string `json:"name"`             // as the language writes it, with package and receiver
	File   string `json:"file,omitempty"`   // of its source; empty if unknown
	Binary string `json:"binary,omitempty"` // base name of its program or library; empty for the kernel
	Kind   Kind   `json:"kind"`
}

// A CallStack is the CPU time that was spent at one call stack.
type CallStack struct {
	Functions []int // indexes into [CPUProfile.Functions], outermost caller first
	Samples   int64
}

// A CPUProfile is the CPU time of one role in the measured phase of one run.
type CPUProfile struct {
	Functions []Function
	Stacks    []CallStack
	Period    float64 // CPU seconds that a sample stands for
	// CPU is the CPU time in seconds by the kernel's accounting, which the samples estimate; 0 if
	// it is not known.
	CPU        float64
	Operations float64 // that were done in the same time
}

// A BlockProfiles is the pair of profiles of one block.
type BlockProfiles struct{ Base, New CPUProfile }

// An IntervalEstimate is an estimate with its 95 % confidence interval.
type IntervalEstimate struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// An Attribution is a difference in CPU cost in parts. Costs are CPU seconds per operation.
type Attribution struct {
	Role   string           `json:"role"`
	Blocks int              `json:"blocks"`
	Base   float64          `json:"base"`   // cost of the base, the mean of the blocks
	New    float64          `json:"new"`    // cost of the new arm
	Change IntervalEstimate `json:"change"` // of the cost, as a share of the base
	// Parts add up to New - Base. The largest come first.
	Parts []CostPart `json:"parts"`
	// Findings are the functions that changed against all others, at most ten: those first of whose
	// change most is certain, by the bound of its interval that is nearer to zero.
	Findings []FunctionChange `json:"findings"`
	// CouldFind is the smallest cost added to one function that this comparison finds in four of
	// five cases, as a share of the cost of the base: the function is any one that has samples enough
	// to be tested. 0 if there is none.
	CouldFind float64 `json:"could_find"`
	// Withheld is the reason why nothing is attributed; empty if something is.
	Withheld string `json:"withheld,omitempty"`
	// Tree is the call tree of both arms, for a drawing; nil if nothing is attributed.
	Tree *Node `json:"tree,omitempty"`
}

// A PartKind is what a [CostPart] of a difference is.
type PartKind string

// The kinds of parts.
const (
	PartFunction PartKind = "function" // what a finding explains
	PartGroup    PartKind = "group"    // garbage collector, scheduler, TLS, JSON, system calls
	PartSpread   PartKind = "spread"   // all functions by about the same share
	PartRest     PartKind = "rest"     // other functions, of which nothing certain is known
	PartUnknown  PartKind = "unknown"  // CPU time that the kernel counts and no sample shows
)

// A CostPart is one summand of a difference of costs.
type CostPart struct {
	Kind    PartKind         `json:"kind"`
	Name    string           `json:"name"`
	Finding int              `json:"finding"` // index into the findings of a part of this kind, else -1
	Cost    IntervalEstimate `json:"cost"`    // CPU seconds per operation; functions and groups beyond the spread
	// Share is that of the whole difference: negative for a part of the other sign, and then others
	// are above 1. It is 0 for all parts if the interval of the whole difference includes zero: there
	// is nothing of which they could be shares.
	Share float64 `json:"share"`
}

// A ChangeKind is what happened to a function.
type ChangeKind string

// The kinds of findings. A profile does not tell whether a build has a function that was not
// sampled: it may be too small, or not be called.
const (
	Changed ChangeKind = "changed"
	Added   ChangeKind = "added"   // no samples in the base
	Removed ChangeKind = "removed" // no samples in the new arm
	Moved   ChangeKind = "moved"   // its work left one function and entered another
)

// A FunctionChange is a function that changed against all others.
type FunctionChange struct {
	Kind     ChangeKind `json:"kind"`
	Function Function   `json:"function"`
	// From is the function that the work left, of a moved one; or the name in the base of one that
	// was matched by other means than its name.
	From    *Function `json:"from,omitempty"`
	Renamed bool      `json:"renamed,omitempty"`
	// Whole is set where all that only the function calls changed in proportion, as if it were called
	// more often. Base, New and Cost are then those of the whole subtree.
	Whole bool `json:"whole,omitempty"`
	// Moved is the cost that moved, of a moved one. Base, New and Cost are then those of both
	// functions together.
	Moved   float64    `json:"moved,omitempty"`
	Callers []Function `json:"callers,omitempty"` // those with most of the difference, at most three
	Within  []Function `json:"within,omitempty"`  // functions that it calls and that have most of it
	// Also has the groups that changed beside it in the same direction and whose cost depends on it:
	// the collector's, of a function that allocates more. Their cost is not in Cost.
	Also   []string         `json:"also,omitempty"`
	Base   float64          `json:"base"` // CPU seconds per operation, with what it calls outside its own program
	New    float64          `json:"new"`
	Cost   IntervalEstimate `json:"cost"`   // the difference beyond the change of all functions
	Change IntervalEstimate `json:"change"` // the same as a share of its base; zero if the base has none
	Q      float64          `json:"q"`      // false discovery rate at which it is found
}

// A Node is a function at one place of the call tree of both arms.
type Node struct {
	Function Function `json:"function"`
	Base     float64  `json:"base"` // CPU seconds per operation, with callees
	New      float64  `json:"new"`
	Finding  int      `json:"finding"` // index into the findings, else -1
	Children []*Node  `json:"children,omitempty"`
}
