// Package arch tests the shape of the repository: which package may import which, which imports and
// calls the pure packages may not have, that packages have a comment, that documents mention only
// existing files and names, and which names are banned.
//
// The rules are data and small functions over a parsed tree; nothing is compiled, so they run in a
// moment and also on a tree that does not build. One test needs types and so a tree that builds:
// that programs set each option and read each key of a plan. Each rule carries its reason, which a
// failure prints, and each is shown to fail on a small bad tree in testdata. To change the shape,
// change the table here and write an ADR in docs/adr.
//
// # Exceptions
//
// Some rules do not hold everywhere yet. debts.txt lists their exceptions with numbers, which may
// only shrink: a rule fails when it finds more than the number, and when an exception is not needed
// any more.
//
// The package does not know the purpose of the other packages. Nothing imports it.
package arch
