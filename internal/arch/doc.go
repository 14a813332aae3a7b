// Package arch tests the shape of the repository: who may import whom, what the pure packages may not touch, that
// packages explain themselves, that documents mention only what exists, and what things may not be called.
//
// The rules are data and small functions over a parsed tree; nothing is compiled, so the tests run in a moment and
// also on a tree that does not build. Each rule carries its reason, which a failure prints, and each is shown to
// fail on a small bad tree in testdata. To change the shape, change the table here and write an ADR in docs/adr.
//
// The package refuses to know what the other packages do. Nothing imports it.
package arch
