package profile

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// kernelDepth is how many of the outermost frames of a call chain in the kernel are kept: the entry
// and, within it, the function of the system call.
const kernelDepth = 8

// mostPaths bounds the different ways into the kernel that are kept.
const mostPaths = 8192

// A kernelPath is those frames, outermost first.
type kernelPath [kernelDepth]uint64

// pathOf returns the path of a chain, which is innermost first.
func pathOf(chain []uint64) (p kernelPath) {
	for i := range min(kernelDepth, len(chain)) {
		p[i] = chain[len(chain)-1-i]
	}
	return p
}

// The names of what the kernel does that is no system call.
const (
	kernelOther     = "[kernel]"
	kernelFault     = "[kernel] page fault"
	kernelInterrupt = "[kernel] interrupt"
)

// A kernelSymbol is a function of the kernel, up to the next one. Those of no meaning here have no
// name.
type kernelSymbol struct {
	start uint64
	name  string // the frame
}

// kernelSymbols are ordered by start.
type kernelSymbols []kernelSymbol

// loadKernel reads the functions of this kernel; none where they may not be read.
func loadKernel() kernelSymbols {
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		return nil
	}
	defer f.Close()
	return readKernel(f)
}

// readKernel reads a text of /proc/kallsyms. Without the right to addresses, these are all 0.
func readKernel(r io.Reader) (out kernelSymbols) {
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		address, rest, _ := bytes.Cut(sc.Bytes(), []byte{' '})
		if len(rest) < 3 || rest[0]|0x20 != 't' && rest[0]|0x20 != 'w' {
			continue
		}
		start, err := strconv.ParseUint(string(address), 16, 64)
		if err != nil || start == 0 {
			continue
		}
		name, _, _ := bytes.Cut(rest[2:], []byte{'\t'}) // of a module
		out = append(out, kernelSymbol{start, kernelFrame(string(name))})
	}
	slices.SortStableFunc(out, func(a, b kernelSymbol) int {
		// Of two names of one function, the one with a meaning is the last.
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.name, b.name))
	})
	// Neighbors of one meaning are one.
	kept := out[:0]
	for i, s := range out {
		switch {
		case i+1 < len(out) && out[i+1].start == s.start:
		case len(kept) > 0 && kept[len(kept)-1].name == s.name:
		default:
			kept = append(kept, s)
		}
	}
	return slices.Clip(slices.Clone(kept))
}

// callPrefixes begin the names of the functions of system calls, which differ between processors;
// the compat ones are those of 32-bit programs.
var callPrefixes = []string{
	"__x64_sys_", "__ia32_sys_", "__ia32_compat_sys_", "__arm64_sys_", "__arm64_compat_sys_",
	"__se_sys_", "__do_sys_", "ksys_", "__sys_",
}

// calls are functions that do the work of a system call whose own function the compiler has left
// out of the chain.
var calls = map[string]string{
	"do_sys_openat2":    "openat",
	"do_epoll_wait":     "epoll_wait",
	"do_epoll_pwait":    "epoll_pwait",
	"do_futex":          "futex",
	"do_readv":          "readv",
	"do_writev":         "writev",
	"do_preadv":         "preadv",
	"do_pwritev":        "pwritev",
	"do_fsync":          "fsync",
	"do_madvise":        "madvise",
	"do_sys_poll":       "poll",
	"__vm_munmap":       "munmap",
	"vm_mmap_pgoff":     "mmap",
	"hrtimer_nanosleep": "nanosleep",
}

// otherEntries are the names of functions at which other ways into the kernel are told.
var otherEntries = []struct{ part, frame string }{
	{"page_fault", kernelFault}, // asm_exc_page_fault, do_page_fault
	{"do_mem_abort", kernelFault},
	{"el0_da", kernelFault},
	{"el0_ia", kernelFault},
	{"sysvec_", kernelInterrupt}, // asm_sysvec_apic_timer_interrupt
	{"common_interrupt", kernelInterrupt},
	{"el0_interrupt", kernelInterrupt},
	{"el1_interrupt", kernelInterrupt},
	{"irq_handler", kernelInterrupt},
}

// kernelFrame returns the frame at a function of the kernel; empty where it tells nothing.
func kernelFrame(function string) string {
	function, _, _ = strings.Cut(function, ".") // of a part that the compiler has split off
	for _, p := range callPrefixes {
		if name, ok := strings.CutPrefix(function, p); ok && name != "" {
			return kernelOther + " " + name
		}
	}
	if name, ok := calls[function]; ok {
		return kernelOther + " " + name
	}
	for _, e := range otherEntries {
		if strings.Contains(function, e.part) {
			return e.frame
		}
	}
	return ""
}

// frame returns the frame of a path: that of the outermost function with a meaning.
func (k kernelSymbols) frame(p kernelPath) string {
	for _, address := range p {
		i, found := slices.BinarySearchFunc(k, address, func(s kernelSymbol, at uint64) int {
			return cmp.Compare(s.start, at)
		})
		if !found {
			i--
		}
		if address != 0 && i >= 0 && k[i].name != "" {
			return k[i].name
		}
	}
	return kernelOther
}
