package verbs

import (
	"bufio"
	"debug/buildinfo"
	"debug/elf"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"plimsoll/cmd/internal/shipped"
	"plimsoll/internal/failure"
)

// mostBytes is the size that the program may have. It is above today's size by the needs of a few
// features, and far below the size of one cloud client.
const mostBytes = 72_500_000

// TestProgramIsStaticAndSmall looks at the program as scripts/build.sh makes it.
func TestProgramIsStaticAndSmall(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the format of programs is that of Linux")
	}
	path := builtProgram(t)
	if fi, err := os.Stat(path); err != nil || fi.Size() > mostBytes {
		t.Errorf(
			"the program has %d bytes (%v), at most %d; go version -m and go tool nm -size -sort size tell what grew",
			fi.Size(),
			err,
			mostBytes,
		)
	}
	f, err := elf.Open(path)
	failure.None(t, err)
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("the program has a segment %v: it needs a loader and a C library", p.Type)
		}
	}
	if libs, _ := f.ImportedLibraries(); len(libs) > 0 {
		t.Errorf("the program needs the libraries %q", libs)
	}
	for _, s := range f.Sections {
		if strings.HasPrefix(s.Name, ".debug_") || strings.HasPrefix(s.Name, ".zdebug_") {
			t.Errorf("the program has the section %s, which only debuggers read", s.Name)
		}
	}
	// perf and govulncheck -mode=binary read these.
	if names, err := f.Symbols(); err != nil || len(names) < 10_000 {
		t.Errorf("the program has %d symbols (%v), want those of all functions", len(names), err)
	}
	info, err := buildinfo.ReadFile(path)
	failure.None(t, err)
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if settings["CGO_ENABLED"] != "0" || settings["-trimpath"] != "true" {
		t.Errorf("built with %v, want CGO_ENABLED=0 and -trimpath", info.Settings)
	}
	for _, m := range info.Deps {
		if m.Replace == nil && !strings.Contains(shipped.Notices, "\n"+m.Path+" ") {
			t.Errorf(
				"the program has the module %s, and its notices do not name it (make notices)",
				m.Path,
			)
		}
	}
}

// TestStackTracesNameFilesAndLines shows that leaving out DWARF costs no stack trace, and that one
// names no directory of this machine.
func TestStackTracesNameFilesAndLines(t *testing.T) {
	path := builtProgram(t)
	cmd := exec.CommandContext(t.Context(), path, "refnull", "-listen", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), "GOTRACEBACK=all")
	stdout, err := cmd.StdoutPipe()
	failure.None(t, err)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	failure.None(t, cmd.Start())
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Errorf("the server says %q and then %v", line, err)
	}
	_ = cmd.Process.Signal(syscall.SIGQUIT)
	_ = cmd.Wait()
	if got := stderr.String(); !strings.Contains(got, "plimsoll/cmd/plimsoll/main.go:") ||
		!strings.Contains(got, "main.main()") {
		t.Errorf("the stack trace is\n%s\nwant main.main and its place", got)
	}
	if wd, err := os.Getwd(); err != nil || strings.Contains(stderr.String(), wd) {
		t.Errorf("the stack trace names the directory %s (%v)", wd, err)
	}
}

func TestVersionPrintsNotices(t *testing.T) {
	path := builtProgram(t)
	out, err := exec.CommandContext(t.Context(), path, "version", "-notices").Output()
	if err != nil || string(out) != shipped.Notices {
		t.Errorf(
			"version -notices ended with %v and %d bytes, want the %d bytes of the notices",
			err,
			len(out),
			len(shipped.Notices),
		)
	}
	for _, want := range []string{"Go standard library and runtime ", "github.com/prometheus/prometheus ", "Copyright (c) 2009 The Go Authors", "MPL-2.0"} {
		if !strings.Contains(shipped.Notices, want) {
			t.Errorf("the notices lack %q", want)
		}
	}
}
