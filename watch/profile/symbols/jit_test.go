package symbols

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/failure"
)

func TestReadPerfMap(t *testing.T) {
	table, err := readPerfMap(strings.NewReader(strings.Repeat("1000 20 one\n", 90) +
		"0x2000 0x10 two words(int)\nno line\n" +
		"1000 10 one again\nffffffffffffffff 10 last\n3000 10 \n" +
		strings.Repeat("x", 100) + "\n4000 1 cut"))
	failure.None(t, err)
	for addr, want := range map[uint64]string{
		0xfff: "", 0x1000: "one again", 0x100f: "one again", 0x1010: "", 0x200f: "two words(int)",
		0x2010: "", 0x3000: "", 0x4000: "cut", 1<<64 - 1: "last",
	} {
		var got string
		for _, f := range table.frames(addr) {
			got = f.Function
		}
		if got != want {
			t.Errorf("%#x is %q, want %q", addr, got, want)
		}
	}
}

func TestOpenPerfMap(t *testing.T) {
	pid := os.Getpid()
	name := filepath.Join("/tmp", fmt.Sprintf("perf-%d.map", pid))
	t.Cleanup(func() { _ = os.Remove(name) })
	failure.None(t, os.WriteFile(name, []byte("7f00 100 jitted\n"), 0o600))
	table, err := OpenPerfMap(pid)
	failure.None(t, err)
	got := table.Lookup(table.Adjust(0, 0x7000)(0x7f80))
	if len(got) != 1 || got[0].Function != "jitted" || table.Close() != nil {
		t.Errorf("found %v", got)
	}
	failure.None(t, os.Remove(name))
	failure.None(t, os.Symlink("/etc/hostname", name))
	if table, err := OpenPerfMap(pid); err == nil {
		t.Errorf("a link out of /tmp is read: %+v", table.Program())
	}
}

func TestInnermostPID(t *testing.T) {
	for status, want := range map[string]int{
		"Name:\tx\nNSpid:\t77\t5\t1\n": 1,
		"NSpid:\t77\n":                 77,
		"NSpid:\n":                     42,
		"NSpid:\tx\n":                  42,
		"":                             42,
	} {
		if got := innermostPID(status, 42); got != want {
			t.Errorf("%q: %d, want %d", status, got, want)
		}
	}
}
