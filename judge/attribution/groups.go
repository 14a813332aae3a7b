package attribution

import (
	"slices"
	"strings"
)

// The groups of costs that no function of the program itself has.
const (
	groupCollector = "garbage collector"
	groupScheduler = "scheduler"
	groupAllocator = "allocator"
	groupRuntime   = "other runtime"
	groupKernel    = "kernel"
	groupUnnamed   = "code without symbols"
	groupLibraries = "other library code"
)

// prefixes are the beginnings of names of functions that make a group.
type prefixes struct {
	group string
	names []string
}

// ofRuntime are groups of Go's runtime. The collector is tested first, anywhere in the stack: its
// workers allocate and are scheduled too.
var ofRuntime = []prefixes{
	{groupCollector, []string{
		"runtime.gc", "runtime.(*gc", "runtime.bgsweep", "runtime.bgscavenge", "runtime.sweep",
		"runtime.(*sweep", "runtime.markroot", "runtime.scan", "runtime.greyobject",
		"runtime.wbBufFlush", "runtime.(*mspan).sweep", "runtime.deductSweepCredit",
	}},
	{groupScheduler, []string{
		"runtime.schedule", "runtime.findRunnable", "runtime.mcall", "runtime.park_m",
		"runtime.gosched", "runtime.goexit0", "runtime.sysmon", "runtime.netpoll",
		"runtime.stealWork", "runtime.mstart", "runtime.stopm", "runtime.startm", "runtime.wakep",
		"runtime.ready", "runtime.goready", "runtime.exitsyscall", "runtime.handoffp",
		"runtime.checkTimers", "runtime.(*timers)",
	}},
	{groupAllocator, []string{
		"runtime.mallocgc", "runtime.newobject", "runtime.makeslice", "runtime.growslice",
		"runtime.newarray", "runtime.makemap", "runtime.makechan", "runtime.rawstring",
		"runtime.rawbyteslice", "runtime.concatstring", "runtime.slicebytetostring",
		"runtime.stringtoslicebyte", "runtime.conv", "runtime.(*mcache)", "runtime.(*mcentral)",
		"runtime.(*mheap)", "runtime.mapassign",
	}},
}

// ofLibraries are groups of packages, of Go's standard library and others.
var ofLibraries = []prefixes{
	{"TLS", []string{"crypto/", "golang.org/x/crypto/", "vendor/golang.org/x/crypto/"}},
	{"JSON", []string{
		"encoding/json", "github.com/json-iterator/", "github.com/goccy/go-json",
		"github.com/bytedance/sonic", "github.com/mailru/easyjson", "github.com/segmentio/encoding",
	}},
	{"compression", []string{
		"compress/", "github.com/klauspost/compress/", "github.com/andybalholm/brotli",
	}},
	{"HTTP", []string{
		"net/http", "golang.org/x/net/http", "vendor/golang.org/x/net/http",
		"github.com/gorilla/", "github.com/valyala/fasthttp",
	}},
	{"database driver", []string{
		"database/sql", "github.com/lib/pq", "github.com/jackc/", "github.com/go-sql-driver/",
		"github.com/jmoiron/sqlx", "github.com/redis/", "github.com/gomodule/redigo",
	}},
	{"logging", []string{"log.", "log/", "go.uber.org/zap", "github.com/sirupsen/logrus"}},
}

// groupOf returns the group of a function by its name; empty if it is in none.
func groupOf(f Function, table []prefixes) string {
	for _, group := range table {
		for _, prefix := range group.names {
			if strings.HasPrefix(f.Name, prefix) {
				return group.group
			}
		}
	}
	return ""
}

// ownGroups returns the group that each function makes of a stack without a function of the program
// itself; empty if it makes none.
func ownGroups(functions []Function) []string {
	groups := make([]string, len(functions))
	for i, f := range functions {
		switch f.Kind {
		case Runtime:
			groups[i] = groupOf(f, ofRuntime)
		case Library:
			groups[i] = groupOf(f, ofLibraries)
		case Own, Kernel, Unknown:
		}
	}
	return groups
}

// classify returns the group of a stack without a function of the program itself: the collector if
// it is anywhere in it; else the kernel's work, where a library or the scheduler does not ask for
// it; else by the innermost function that makes a group; else the outermost function of a library.
func classify(stack []int32, functions []Function, groups []string) string {
	var runtime, library, outermost string
	kernel, unnamed := false, true
	for _, f := range stack { // the innermost comes last and decides
		kind := functions[f].Kind
		unnamed = unnamed && kind == Unknown
		switch {
		case groups[f] == groupCollector:
			return groupCollector
		case kind == Kernel:
			kernel = true
		case kind == Runtime && groups[f] != "":
			runtime = groups[f]
		case kind == Library && groups[f] != "":
			library = groups[f]
		}
		if kind == Library && outermost == "" {
			outermost = functions[f].Name
		}
	}
	switch {
	case unnamed:
		return groupUnnamed
	case kernel && runtime != groupScheduler:
		return groupKernel
	case library != "":
		return library
	case outermost != "":
		return outermost
	case runtime != "":
		return runtime
	}
	return groupRuntime
}

// groupNamed reports whether a group has a name of its own, and not that of a library's function.
func groupNamed(group string) bool {
	switch group {
	case groupRuntime, groupKernel, groupUnnamed:
		return true
	}
	named := func(p prefixes) bool { return p.group == group }
	return slices.ContainsFunc(ofRuntime, named) || slices.ContainsFunc(ofLibraries, named)
}
