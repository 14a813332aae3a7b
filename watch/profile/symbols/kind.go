package symbols

import (
	"path"
	"strings"
)

// The kinds of functions, as package judge/attribution knows them.
const (
	Own     = "own"     // the program's own code
	Library = "library" // code that the program links, the standard library too
	Runtime = "runtime" // the runtime of its language: collector, scheduler, allocator
	Kernel  = "kernel"  // a system call, a page fault or an interrupt
	Unknown = "unknown" // an address without a symbol
)

// Kind returns the kind of a function of a program: [Own], [Library] or [Runtime].
//
// Of a Go program, package main and packages below the path of one of its own modules are its own;
// the version at the end of that path does not count, so modules beside it are its own too. Where
// the modules are not known, packages with the name of a host that came from no released module, by
// the path of their file, are its own. The runtime is the packages runtime, runtime/...,
// internal/runtime/... and internal/abi, what they have for other packages, and the assembly by
// which package reflect calls functions. Of other programs, the program itself is its own, and
// shared libraries are libraries.
func Kind(f Call, p Executable) string {
	if p.Language != "Go" {
		if p.Library {
			return Library
		}
		return Own
	}
	pkg := goPackage(f.Function)
	switch {
	case f.File == "":
		return Library // C that is linked to a Go program
	case isRuntime(pkg), isRuntime(path.Dir(f.File)):
		return Runtime
	case f.Function == "reflect.call", f.Function == "reflect.makeFuncStub",
		f.Function == "reflect.methodValueCall":
		return Runtime
	case pkg == "main", p.Modules == nil && unreleased(pkg, f.File):
		return Own
	}
	for _, m := range p.Modules {
		if m != "" && below(pkg, unversioned(m)) {
			return Own
		}
	}
	return Library
}

// unreleased reports whether a package is outside of the standard library, and its file neither in
// the cache of modules, whose directories end in @ and a version, nor in a copy of it (vendor).
func unreleased(pkg, file string) bool {
	host, _, _ := strings.Cut(pkg, "/")
	return strings.Contains(host, ".") && !strings.Contains(file, "@") &&
		!strings.Contains(file, "/vendor/")
}

func isRuntime(pkg string) bool {
	return below(pkg, "runtime") || below(pkg, "internal/runtime") || pkg == "internal/abi"
}

// below reports whether a package is dir or below it.
func below(pkg, dir string) bool {
	rest, ok := strings.CutPrefix(pkg, dir)
	return ok && (rest == "" || rest[0] == '/')
}

// unversioned returns the path of a module without its major version, as in example.org/chat/v8.
func unversioned(module string) string {
	dir, last := path.Split(module)
	if dir != "" && len(last) > 1 && last[0] == 'v' && strings.Trim(last[1:], "0123456789") == "" {
		return strings.TrimSuffix(dir, "/")
	}
	return module
}
