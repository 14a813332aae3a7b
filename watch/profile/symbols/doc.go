// Package symbols finds the functions that addresses of a program belong to.
//
// A [SymbolTable] reads what a program carries for its own runtime or its dynamic linker, and needs no
// debugging information:
//
//   - Go 1.16 to 1.27: the table of functions that tracebacks use (pclntab), in stripped programs
//     too, with inlined calls and first lines of functions. Two things are missing: first lines
//     before Go 1.20, and position-independent programs with C that LLVM's linker wrote.
//   - C, C++ and Rust: .symtab, or that of a file in /usr/lib/debug with the same build ID, or
//     .dynsym. The nearest symbol before an address counts only if its size covers the address: a
//     static function of a stripped program has none. Its name is its address by the tables that
//     exceptions use, with the build ID; a package with debugging symbols gives its true name.
//   - Runtimes that compile at run time: the file perf-PID.map, if they write one.
//
// # Memory
//
// A SymbolTable reads its file by pages, at most 2 MB of which it keeps: neither code nor tables are
// loaded. Symbols of C take 24 bytes each. Files are foreign input: sizes in them are bounded, and
// a file that is cut or lies yields an error or unknown functions.
package symbols
