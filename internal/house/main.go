// Command house prints measurements of the repository that a reviewer reads beside a change: the size of each room,
// the longest files, functions and lines, the golden files, the rates of some words in comments and documents, and the
// packages without an example. It fails nothing; rules that a tree must keep are tests in internal/arch.
//
// # Usage
//
//	go run ./internal/house [DIR]
//
// DIR is the root of a tree, by default the working directory. The tree is parsed and not compiled.
//
// # Definitions
//
// A line of comment is a line that holds nothing else. A column is a rune, also a tab. Comments are counted without
// the code that they indent, Markdown without code, link targets, HTML comments and the parts that programs write
// between <!-- name --> and <!-- end name -->. Three habits are counted, each an upper bound: "what", except in
// questions, "what if" and "what to"; nobody, somebody, whoever and whom; says, tells and told.
package main

import (
	"fmt"
	"os"
)

func main() {
	dir := "."
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	h, err := read(os.DirFS(dir))
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
	h.print(os.Stdout)
}
