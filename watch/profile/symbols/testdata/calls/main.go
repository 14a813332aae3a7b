// Command calls writes a profile of its goroutines, which wait in all kinds of calls, to stdout.
package main

import (
	"os"
	"runtime/pprof"
	"slices"
	"sync"

	dotted "example.org/calls/v3/dot.ted"
)

var (
	waiting sync.WaitGroup
	forever = make(chan int)
)

//go:noinline
func leaf() {
	waiting.Done()
	<-forever
}

func first()  { leaf() }
func second() { first() }
func third()  { second(); second() }

//go:noinline
func held(f func()) { f() }

type counter struct{ n int }

func (c counter) value()    { second(); c.n++ }
func (c *counter) pointer() { second(); c.n++ }

type valuer interface{ value() }

type outer struct{ *counter }

func generic[T any](v T, f func(T)) { f(v) }

//go:noinline
func heldGeneric[T comparable](a, b T, f func()) bool { f(); return a == b }

func closures() {
	x := 1
	held(func() {
		x++
		func() { held(func() { x++; second() }) }()
	})
}

func compare() {
	s := []int{2, 1}
	slices.SortFunc(s, func(a, b int) int { third(); return a - b })
}

func deferred() {
	defer func() {
		_ = recover()
		second()
	}()
	panic("to recover")
}

func sequence(yield func(int) bool) { _ = yield(1) && yield(2) }

var started = func() func() { return func() { third() } }()

func main() {
	all := []func(){
		leaf, first, third, closures, compare, deferred, started,
		func() { counter{1}.value() },
		func() { new(counter).pointer() },
		func() { valuer(new(counter)).value() },
		func() { valuer(outer{new(counter)}).value() },
		func() { f := (*counter).pointer; f(new(counter)) },
		func() { held(new(counter).pointer) },
		func() { generic(1, func(int) { second() }) },
		func() { heldGeneric("a", "b", second) },
		func() { heldGeneric(counter{1}, counter{2}, second) },
		func() { dotted.Of("x").Each(func(string) { second() }) },
		func() { dotted.Of(counter{1}).Held(second) },
		func() { sequence(func(int) bool { second(); return true }) },
	}
	waiting.Add(len(all))
	for _, f := range all {
		go f()
	}
	waiting.Wait()
	if err := pprof.Lookup("goroutine").WriteTo(os.Stdout, 0); err != nil {
		panic(err)
	}
}
