package main

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// A work is what is added to a function: so many repeats of a short piece of code, which stands
// inside the function or calls a library there.
type work string

// The works. A loop has no calls; the others spend their time in the standard library and, by what
// they allocate, in the runtime.
const (
	workLoop work = "loop"
	workJSON work = "json"
	workHash work = "sha256"
	workText work = "strings"
	workSort work = "sort"
)

// bodies are the statements of one repeat. Their results are used, so that the compiler keeps them.
var bodies = map[work]string{
	workLoop: `studyBurn ^= studyBurn << 13
		studyBurn ^= studyBurn >> 7
		studyBurn ^= studyBurn << 17`,
	workJSON: `if b, err := studyMarshal(studyFields); err != nil || len(b) == 0 {
			panic("study")
		}`,
	workHash: `if studySum(studyBytes) == ([32]byte{}) {
			panic("study")
		}`,
	workText: `if len(studyReplace(studyText, " ", "_")) != len(studyText) {
			panic("study")
		}`,
	workSort: `studyRow := studyNumbers
		if studySort(studyRow[:]); studyRow[0] > studyRow[1] {
			panic("study")
		}`,
}

// repeat writes so many repeats; n is a number or the name of one.
func (w work) repeat(n string) string {
	text := "for range " + n + " {\n" + bodies[w] + "\n}"
	if w == workLoop {
		return "studyBurn := studySeed\n" + text + "\nif studyBurn == 0 {\npanic(\"study\")\n}"
	}
	return text
}

// workFile has what the works use. The libraries are called through variables, so that no file
// that gets work needs another import. Xorshift (Marsaglia, Journal of Statistical Software 8(14),
// 2003) never comes to 0.
const workFile = `package %s

import (
	"crypto/sha256"
	"encoding/json"
	"sort"
	"strings"
)

var (
	studySeed    uint64 = 88172645463325252
	studyFields         = map[string]string{"id": "ybndrfg8ejkmcpqxot1uwisza3", "type": "O", "name": "town-square"}
	studyBytes          = make([]byte, 256)
	studyText           = "the quick brown fox jumps over the lazy dog and runs away from it"
	studyNumbers        = [16]int{9, 3, 14, 1, 7, 12, 5, 0, 15, 4, 10, 2, 13, 6, 11, 8}
	studyMarshal        = json.Marshal
	studySum            = sha256.Sum256
	studyReplace        = strings.ReplaceAll
	studySort           = sort.Ints
)
`

// addWork adds n repeats of a work to the beginning of a function.
func (s source) addWork(fn function, w work, n int) error {
	s[path.Join(path.Dir(fn.file), "study_work.go")] = fmt.Sprintf(
		workFile,
		path.Base(path.Dir(fn.file)),
	)
	return s.insert(insertion{fn, w.repeat(fmt.Sprint(n))})
}

// costsMain measures the works: CPU seconds of one repeat, the least of several tries, as a line of
// JSON. The cores of a virtual machine are slowed down by others, never sped up.
const costsMain = `package main

import (
	"encoding/json"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

func main() {
	runtime.LockOSThread()
	costs := map[string]float64{}
	for name, do := range map[string]func(n int){
%s	} {
		do(1000)
		for range 15 {
			began := now()
			do(20000)
			each := (now() - began) / 20000
			if costs[name] == 0 || each < costs[name] {
				costs[name] = each
			}
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(costs); err != nil {
		panic(err)
	}
}

// now is the CPU time of this process: what works allocate is collected by other threads.
func now() float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
`

// costs is the source of the program that measures the works.
func costs() source {
	var b strings.Builder
	for _, w := range slices.Sorted(maps.Keys(bodies)) {
		fmt.Fprintf(&b, "\t\t%q: func(n int) {\n%s\n},\n", w, w.repeat("n"))
	}
	return source{
		mainPath + "/main.go":       fmt.Sprintf(costsMain, b.String()),
		mainPath + "/study_work.go": fmt.Sprintf(workFile, "main"),
	}
}
