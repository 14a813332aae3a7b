package symbols

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/failure"
)

// compiled compiles a file of testdata/native.
func compiled(t testing.TB, source string, args ...string) string {
	t.Helper()
	cc, err := exec.LookPath("gcc")
	if err != nil {
		failure.Lacks(t, "gcc", err.Error())
	}
	exe := filepath.Join(t.TempDir(), strings.TrimSuffix(source, filepath.Ext(source)))
	args = append(args, "-O1", "-o", exe, filepath.Join("testdata", "native", source))
	if out, err := exec.CommandContext(t.Context(), cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc %q: %v\n%s", args, err, out)
	}
	return exe
}

// output returns what a command prints.
func output(t testing.TB, name string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		failure.Lacks(t, name, err.Error())
	}
	out, err := exec.CommandContext(t.Context(), name, args...).Output()
	if err != nil {
		t.Fatalf("%s %q: %v", name, args, err)
	}
	return string(out)
}

// TestLookupNative finds functions of C programs at the addresses that they print of themselves.
func TestLookupNative(t *testing.T) {
	for _, b := range []struct {
		args    []string
		unknown string
	}{
		{[]string{"-no-pie"}, ""},
		{[]string{"-pie", "-fPIE"}, ""},
		{[]string{"-pie", "-fPIE", "-s", "-rdynamic"}, "hidden"},
		{[]string{"-static"}, ""},
	} {
		exe := compiled(t, "native.c", b.args...)
		table := opened(t, exe)
		if p := table.Program(); p.Library || p.Language != "C" || p.BuildID == "" ||
			!strings.Contains(output(t, "readelf", "-n", exe), "Build ID: "+p.BuildID+"\n") {
			t.Errorf("%q: program %+v", b.args, p)
		}
		if Kind(Call{Function: "main"}, table.Program()) != Own {
			t.Errorf("%q: main is not the program's own", b.args)
		}
		lines := strings.Split(output(t, exe), "\n")
		var mappings []string
		for _, line := range lines {
			if strings.HasSuffix(line, exe) {
				mappings = append(mappings, line)
			}
		}
		for _, line := range lines[:4] {
			want, hex, _ := strings.Cut(line, " 0x")
			ip, err := strconv.ParseUint(hex, 16, 64)
			failure.None(t, err)
			got := table.Lookup(mapped(t, table, mappings, ip))
			switch {
			case want == b.unknown:
				if len(got) != 1 || !strings.Contains(got[0].Function, "no symbol") {
					t.Errorf("%q: %s is %v, want its address", b.args, want, got)
				}
			case len(got) != 1 || got[0] != Call{Function: want}:
				t.Errorf("%q: %#x is %v, want %q", b.args, ip, got, want)
			}
		}
		if got := table.Lookup(1); got != nil {
			t.Errorf("%q: address 1 is %v", b.args, got)
		}
	}
}

// mapped returns the address in a file of an address in one of its mappings.
func mapped(t testing.TB, table *SymbolTable, mappings []string, ip uint64) uint64 {
	t.Helper()
	for _, line := range mappings {
		var start, end, offset uint64
		var mode string
		failure.None(t, failure.Of(fmt.Sscanf(line, "%x-%x %s %x", &start, &end, &mode, &offset)))
		if ip >= start && ip < end {
			return table.Adjust(offset, start)(ip)
		}
	}
	t.Fatalf("%#x is in none of %q", ip, mappings)
	return 0
}

// TestLookupAgainstNm compares all functions of libraries of this host with those of nm.
func TestLookupAgainstNm(t *testing.T) {
	compared := 0
	for _, lib := range []string{"libc.so.6", "libm.so.6", "libstdc++.so.6"} {
		found, _ := filepath.Glob("/lib/*/" + lib)
		usr, _ := filepath.Glob("/usr/lib/*/" + lib)
		for _, file := range slices.Concat(found, usr) {
			table := opened(t, file)
			if p := table.Program(); !p.Library || Kind(Call{}, p) != Library {
				t.Errorf("%s is no library: %+v", file, p)
			}
			names := map[uint64][]string{}
			for line := range strings.Lines(output(t, "nm", "-D", "--defined-only", file)) {
				f := strings.Fields(line)
				addr, err := strconv.ParseUint(f[0], 16, 64)
				if err != nil || !strings.ContainsAny(f[1], "TtWi") {
					continue
				}
				name, _, _ := strings.Cut(f[2], "@")
				names[addr] = append(names[addr], plainName(name))
			}
			for addr, want := range names {
				got := table.Lookup(addr)
				if table.native.file == nil &&
					(len(got) != 1 || !slices.Contains(want, got[0].Function)) {
					t.Errorf("%s: %#x is %v, want one of %q", file, addr, got, want)
				}
				compared++
			}
		}
	}
	if compared == 0 {
		failure.Lacks(t, "no library to compare")
	}
}

func TestLookupCPlusPlus(t *testing.T) {
	exe := compiled(t, "plus.cc", "-shared", "-fPIC")
	table := opened(t, exe)
	var names []string
	for _, s := range table.native.symbols {
		for _, f := range table.Lookup(s.addr) {
			names = append(names, f.Function)
		}
	}
	for _, want := range []string{"chat::Hub::send<int>", "chat::Hub::operator()", "both"} {
		if !slices.Contains(names, want) {
			t.Errorf("no %q in %q", want, names)
		}
	}
	if !table.Program().Library {
		t.Error("the library is a program")
	}
}

func TestPlainName(t *testing.T) {
	for symbol, want := range map[string]string{
		"ExecInterpExpr":                                   "ExecInterpExpr",
		"heap_getnext.part.0":                              "heap_getnext",
		"hash_any.constprop.0.isra.0.cold":                 "hash_any",
		"_ZN4chat3Hub4sendEi":                              "chat::Hub::send",
		"_ZN4chat3Hub4sendEi.cold":                         "chat::Hub::send",
		"_ZNK4chat3HubclEi":                                "chat::Hub::operator()",
		"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE": "core::fmt::Write::write_fmt",
		"_Znonsense":                                       "_Znonsense",
		".cold":                                            ".cold",
		"my.odd.name":                                      "my.odd.name",
		"_Z" + strings.Repeat("N", 20_000):                 "_Z" + strings.Repeat("N", 20_000),
		"_Z1f" + strings.Repeat("PFPFvPK", 999):            "f",
	} {
		if got := plainName(symbol); got != want {
			t.Errorf("%.60s is %.60s, want %.60s", symbol, got, want)
		}
	}
}

func TestOpenRejects(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	failure.None(t, os.WriteFile(text, []byte("#!/bin/sh\n"), 0o777))
	for _, path := range []string{text, dir, filepath.Join(dir, "none"), os.DevNull} {
		if table, err := Open(path); err == nil {
			t.Errorf("%s is accepted: %+v", path, table.Program())
		}
	}
}

// TestOpenDeleted opens the program of a process whose file is gone.
func TestOpenDeleted(t *testing.T) {
	exe := compiled(t, "native.c", "-no-pie")
	want := opened(t, exe).Program()
	link := filepath.Join(t.TempDir(), "exe")
	f, err := os.Open(exe)
	failure.None(t, err)
	defer func() { _ = f.Close() }()
	failure.None(t, os.Remove(exe))
	failure.None(t, os.Symlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), link))
	if got := opened(t, link).Program(); !reflect.DeepEqual(got, want) {
		t.Errorf("deleted program is %+v, want %+v", got, want)
	}
}
