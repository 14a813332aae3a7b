// Package dotted has a dot in its import path.
package dotted

// A Box holds a value.
type Box[T any] struct{ value T }

// Of returns a box of v.
func Of[T any](v T) *Box[T] { return &Box[T]{v} }

// Each calls f with the value of the box.
func (b *Box[T]) Each(f func(T)) { f(b.value) }

// Held calls f. It is not inlined.
//
//go:noinline
func (b *Box[T]) Held(f func()) { f() }
