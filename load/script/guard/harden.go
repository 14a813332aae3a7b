package guard

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dlclark/regexp2"
	"github.com/grafana/sobek"
)

// What one native call may make or work through.
const (
	mostBytes    = 64 << 20
	mostElements = 4 << 20   // of 16 bytes each
	mostSorted   = 256 << 10 // elements, in native code without a comparator: some seconds
	mostSearched = 4 << 20   // characters, where each match makes an object
	mostSource   = 64 << 10  // characters of code or of a pattern made at run time: parsers recurse
	mostNested   = 1000      // values in values
)

// matchTime is when a regular expression that backtracks ends.
const matchTime = time.Second

// backtrack limits the time of regular expressions that are compiled from now on. sobek uses this
// library for them, and nothing else here does.
var backtrack = sync.OnceFunc(func() { regexp2.DefaultMatchTimeout = matchTime })

// Bounds are those native calls that a program can make and that have a bound.
type Bounds []bound

// A bound replaces members of a built-in object by ones that check their arguments.
type bound struct {
	of      string // object, as an expression
	members string // with spaces between
	put     func(h *hardener, of *sobek.Object, name string) error
}

// bounds lists all.
var bounds = Bounds{
	{"String.prototype", "repeat", method((*hardener).repeats)},
	{"String.prototype", "padStart padEnd", method((*hardener).pads)},
	{"String.prototype", "concat", method((*hardener).concatenates)},
	{"String.prototype", "split match matchAll replace replaceAll", method((*hardener).searches)},
	{"String", "raw", method((*hardener).quotes)},
	{"Array.prototype", "concat", method((*hardener).concatenates)},
	{"Array.prototype", "sort toSorted", method((*hardener).sorts)},
	{"Array.prototype", "copyWithin every fill filter find findIndex findLast findLastIndex flat " +
		"flatMap forEach includes indexOf lastIndexOf map reduce reduceRight reverse shift slice some splice " +
		"unshift with toReversed toSpliced toLocaleString keys entries", method((*hardener).goesThrough)},
	{"Array.prototype", "join", (*hardener).joins},
	{"Array", "from", method((*hardener).spreads)},
	{"Function.prototype", "apply", method((*hardener).spreads)},
	{"Reflect", "apply construct", method((*hardener).spreads)},
	{"JSON", "parse", (*hardener).parses},
	{"JSON", "stringify", (*hardener).stringifies},
	{"globalThis", "Function RegExp", constructor(0)},
	// A call of one that was replaced is no direct eval: its code sees global names only.
	{"globalThis", "eval", method(func(h *hardener, c *sobek.FunctionCall) {
		h.within(float64(size(c.Argument(0))), mostSource, "characters of code")
	})},
	{"globalThis", "ArrayBuffer Int8Array Uint8Array Uint8ClampedArray", constructor(1)},
	{"globalThis", "Int16Array Uint16Array", constructor(2)},
	{"globalThis", "Int32Array Uint32Array Float32Array", constructor(4)},
	{"globalThis", "Float64Array BigInt64Array BigUint64Array", constructor(8)},
	{"globalThis", "Array", constructor(mostBytes / mostElements)},
	{"globalThis", "BigInt", method(func(h *hardener, _ *sobek.FunctionCall) {
		h.refuse("BigInt is not supported: one operation could take hours; write digits as a string")
	})},
}

// words are the names in a program's text.
var words = regexp.MustCompile(`\w+`)

// For returns the bounds for a program: of the members that its text names, since each costs a user
// 2 KiB. A script is its author's own program, and one that puts such names together out of pieces
// escapes; one that runs text as code gets all bounds.
func For(code string) Bounds {
	backtrack()
	named := map[string]bool{}
	for _, w := range words.FindAllString(code, -1) {
		named[w] = true
	}
	if named["eval"] || named["Function"] {
		return bounds
	}
	named["Function"] = named["constructor"]
	var out Bounds
	for _, b := range bounds {
		var members []string
		for m := range strings.FieldsSeq(b.members) {
			// conversions to strings call join, and hosts JSON
			if named[m] || m == "join" || b.of == "JSON" {
				members = append(members, m)
			}
		}
		if b.members = strings.Join(members, " "); b.members != "" {
			out = append(out, b)
		}
	}
	return out
}

// Harden gives a runtime these bounds, before any code runs in it.
func (b Bounds) Harden(rt *sobek.Runtime) (err error) {
	h := &hardener{rt: rt}
	for _, b := range b {
		of := rt.GlobalObject()
		for name := range strings.SplitSeq(strings.TrimPrefix(b.of, "globalThis"), ".") {
			if name != "" {
				of = of.Get(name).ToObject(rt)
			}
		}
		for name := range strings.FieldsSeq(b.members) {
			err = errors.Join(err, b.put(h, of, name))
		}
	}
	return err
}

// A hardener is the bounds of one runtime.
type hardener struct {
	rt      *sobek.Runtime
	joining []*sobek.Object
	writing *writing // of JSON.stringify, innermost
}

// refuse throws a RangeError.
func (h *hardener) refuse(format string, args ...any) { h.throw("RangeError", format, args...) }

// throw throws an error of that name.
func (h *hardener) throw(name, format string, args ...any) {
	text := h.rt.ToValue(fmt.Sprintf(format, args...))
	if e, err := h.rt.New(h.rt.GlobalObject().Get(name), text); err == nil {
		panic(e)
	}
	panic(h.rt.NewTypeError("%s", text.String())) // the script has replaced its constructor
}

// within throws unless n things are at most most.
func (h *hardener) within(n float64, most int, what string) {
	if n > float64(most) {
		h.refuse("%.0f %s are too many for one call: at most %d", n, what, most)
	}
}

// put replaces a member by a function.
func (h *hardener) put(of *sobek.Object, name string, f func(sobek.FunctionCall) sobek.Value) error {
	return h.set(of, name, h.rt.ToValue(f).ToObject(h.rt))
}

func (h *hardener) set(of *sobek.Object, name string, v *sobek.Object) error {
	return errors.Join(
		v.DefineDataProperty("name", h.rt.ToValue(name), sobek.FLAG_FALSE, sobek.FLAG_TRUE, sobek.FLAG_FALSE),
		of.DefineDataProperty(name, v, sobek.FLAG_TRUE, sobek.FLAG_TRUE, sobek.FLAG_FALSE),
	)
}

// method puts a function that checks before it calls what was there.
func method(check func(*hardener, *sobek.FunctionCall)) func(*hardener, *sobek.Object, string) error {
	return func(h *hardener, of *sobek.Object, name string) error {
		before, ok := sobek.AssertFunction(of.Get(name))
		if !ok {
			return fmt.Errorf("sobek has no function %s", name)
		}
		return h.put(of, name, func(c sobek.FunctionCall) sobek.Value {
			check(h, &c)
			return pass(before(c.This, c.Arguments...))
		})
	}
}

// pass passes an exception on, and what cannot be caught.
func pass(v sobek.Value, err error) sobek.Value {
	if err != nil {
		panic(err)
	}
	return v
}

// constructor puts a constructor whose first argument is a length or a list of elements of so many
// bytes; 0 for one that parses its arguments.
func constructor(bytes int) func(*hardener, *sobek.Object, string) error {
	return func(h *hardener, of *sobek.Object, name string) error {
		return h.guarded(of, name, func(args []sobek.Value) {
			if bytes == 0 {
				for _, v := range args {
					h.within(float64(size(v)), mostSource, "characters of code")
				}
				return
			}
			if len(args) == 0 || name == "Array" && len(args) > 1 {
				return
			}
			n := length(args[0])
			if _, isObject := args[0].(*sobek.Object); !isObject {
				n = args[0].ToFloat()
			}
			h.within(n, mostBytes/bytes, "elements")
		})
	}
}

// guarded puts a constructor with a check of its arguments.
func (h *hardener) guarded(of *sobek.Object, name string, check func([]sobek.Value)) error {
	target := of.Get(name).ToObject(h.rt)
	construct, ok := sobek.AssertConstructor(target)
	if !ok {
		return fmt.Errorf("sobek has no constructor %s", name)
	}
	v := h.rt.ToValue(func(c sobek.ConstructorCall) *sobek.Object {
		check(c.Arguments)
		o, err := construct(c.NewTarget, c.Arguments...)
		if err != nil {
			panic(err)
		}
		touch(o, c.Arguments)
		return o
	}).ToObject(h.rt)
	prototype := target.Get("prototype")
	if err := v.SetPrototype(target); err != nil { // for what else it has
		return err
	}
	if name == "Function" {
		if err := prototype.ToObject(h.rt).Set("constructor", v); err != nil {
			return err
		}
	}
	return errors.Join(
		v.DefineDataProperty("prototype", prototype, sobek.FLAG_FALSE, sobek.FLAG_FALSE, sobek.FLAG_FALSE),
		h.set(of, name, v),
	)
}

// touch writes to all of a new buffer: the kernel gives memory that nobody has written to faster than
// a watch can look.
func touch(o *sobek.Object, args []sobek.Value) {
	if len(args) == 0 {
		return
	}
	if _, isObject := args[0].(*sobek.Object); isObject || args[0].ToFloat() < 1<<16 {
		return
	}
	var v sobek.Value = o
	if b := o.Get("buffer"); b != nil {
		v = b
	}
	if b, ok := v.Export().(sobek.ArrayBuffer); ok {
		clear(b.Bytes())
	}
}

// text makes an argument a string, so that its methods are called once.
func (h *hardener) text(v *sobek.Value) int {
	if *v == nil || sobek.IsUndefined(*v) || sobek.IsNull(*v) {
		return 0
	}
	if _, ok := (*v).(*sobek.Symbol); ok {
		return 0
	}
	*v = (*v).ToString() // a primitive, of an object
	if _, ok := (*v).(sobek.String); !ok {
		*v = h.rt.ToValue((*v).String())
	}
	return size(*v)
}

// size returns the length of a string, in characters of UTF-16; 0 of other values.
func size(v sobek.Value) int {
	if s, ok := v.(sobek.String); ok {
		return s.Length()
	}
	return 0
}

// length returns the length of a list, or of what pretends to be one.
func length(v sobek.Value) float64 {
	if o, ok := v.(*sobek.Object); ok {
		if n := o.Get("length"); n != nil {
			if f := n.ToFloat(); !math.IsNaN(f) {
				return f
			}
		}
	}
	return 0
}

// repeats bounds copies of a string.
func (h *hardener) repeats(c *sobek.FunctionCall) {
	n := h.text(&c.This)
	h.within(float64(n)*h.count(c), mostBytes, "characters")
}

// pads bounds a string of a given length.
func (h *hardener) pads(c *sobek.FunctionCall) { h.within(h.count(c), mostBytes, "characters") }

// count makes the first argument a number, so that its methods are called once.
func (h *hardener) count(c *sobek.FunctionCall) float64 {
	if len(c.Arguments) == 0 {
		return 0
	}
	n := c.Arguments[0].ToNumber()
	c.Arguments[0] = n
	return max(n.ToFloat(), 0) // NaN is within all bounds
}

// concatenates bounds the sum of strings or of lists.
func (h *hardener) concatenates(c *sobek.FunctionCall) {
	if o, ok := c.This.(*sobek.Object); ok {
		n := length(o)
		for _, v := range c.Arguments {
			n += max(length(v), 1)
		}
		h.within(n, mostElements, "elements")
		return
	}
	n := h.text(&c.This)
	for i := range c.Arguments {
		n += h.text(&c.Arguments[i])
	}
	h.within(float64(n), mostBytes, "characters")
}

// searches bounds what is found in a string, and what comes in its place.
func (h *hardener) searches(c *sobek.FunctionCall) {
	n := h.text(&c.This)
	if n <= mostSource && len(c.Arguments) < 2 {
		return
	}
	h.within(float64(n), mostSearched, "characters to search")
	if r, ok := c.Argument(1).(sobek.String); ok && n*r.Length() > mostBytes {
		times := n + 1
		if old, ok := c.Argument(0).(sobek.String); ok {
			times = strings.Count(c.This.String(), old.String())
		}
		h.within(float64(n)+float64(times)*float64(r.Length()), mostBytes, "characters")
	}
}

// sorts bounds sorting without a function of the script, which cannot be interrupted.
func (h *hardener) sorts(c *sobek.FunctionCall) {
	most := mostElements
	if _, ok := sobek.AssertFunction(c.Argument(0)); !ok {
		most = mostSorted
	}
	h.within(length(c.This), most, "elements to sort")
}

// goesThrough bounds loops over the elements of a list.
func (h *hardener) goesThrough(c *sobek.FunctionCall) {
	h.within(length(c.This), mostElements, "elements")
}

// spreads bounds loops over an argument.
func (h *hardener) spreads(c *sobek.FunctionCall) {
	for _, v := range c.Arguments {
		h.within(length(v), mostElements, "elements")
	}
}

// quotes bounds the parts of a template.
func (h *hardener) quotes(c *sobek.FunctionCall) {
	if o, ok := c.Argument(0).(*sobek.Object); ok {
		h.within(length(o.Get("raw")), mostElements, "elements")
	}
}

// joins puts a join that looks at its length as it grows.
func (h *hardener) joins(of *sobek.Object, name string) error { return h.put(of, name, h.join) }

func (h *hardener) join(c sobek.FunctionCall) sobek.Value {
	o := c.This.ToObject(h.rt)
	if slices.Contains(h.joining, o) {
		return h.rt.ToValue("")
	}
	h.within(float64(len(h.joining)), mostNested, "lists in lists")
	n := length(o)
	h.within(n, mostElements, "elements")
	between := c.Argument(0)
	if sobek.IsUndefined(between) {
		between = h.rt.ToValue(",")
	}
	gap := h.text(&between)
	if gap == 0 {
		between = h.rt.ToValue(between.String())
	}
	h.joining = append(h.joining, o)
	defer func() { h.joining = h.joining[:len(h.joining)-1] }()
	var out sobek.StringBuilder
	total := 0
	for i := range int(max(n, 0)) {
		if i > 0 {
			out.WriteString(between.(sobek.String))
			total += gap
		}
		if v := o.Get(strconv.Itoa(i)); v != nil && !sobek.IsUndefined(v) && !sobek.IsNull(v) {
			total += h.text(&v)
			h.within(float64(total), mostBytes, "characters")
			s, ok := v.(sobek.String)
			if !ok {
				panic(h.rt.NewTypeError("a Symbol is no string"))
			}
			out.WriteString(s)
		}
		h.within(float64(total), mostBytes, "characters")
	}
	return out.String()
}

// writing is one JSON.stringify: how much it wrote, and the objects that it is in.
type writing struct {
	user    sobek.Callable // replacer of the script
	bytes   int
	within  []*sobek.Object
	next    *sobek.Object // what the last value was: its members come next
	indents bool
}

// stringifies puts a JSON.stringify that sees each value before it is written.
func (h *hardener) stringifies(of *sobek.Object, name string) error {
	before, ok := sobek.AssertFunction(of.Get(name))
	if !ok {
		return errors.New("sobek has no JSON.stringify")
	}
	replacer := h.rt.ToValue(h.write)
	return h.put(of, name, func(c sobek.FunctionCall) sobek.Value {
		if _, ok := c.Argument(0).(*sobek.Object); !ok {
			return pass(before(c.This, c.Arguments...))
		}
		w := &writing{indents: !sobek.IsUndefined(c.Argument(2))}
		args := [3]sobek.Value{c.Argument(0), c.Argument(1), c.Argument(2)}
		w.user, ok = sobek.AssertFunction(args[1])
		if _, isList := args[1].(*sobek.Object); ok || !isList { // a list of keys is left as it is
			args[1] = replacer
		}
		outer := h.writing
		h.writing = w
		defer func() { h.writing = outer }()
		return pass(before(c.This, args[:]...))
	})
}

// write is called for each value of a JSON text, after its holder.
func (h *hardener) write(c sobek.FunctionCall) sobek.Value {
	w := h.writing
	holder, _ := c.This.(*sobek.Object)
	if holder == w.next {
		w.within = append(w.within, holder)
		h.within(float64(len(w.within)), mostNested, "values in values")
	} else {
		for n := len(w.within); n > 1 && w.within[n-1] != holder; n = len(w.within) {
			w.within = w.within[:n-1]
		}
	}
	v := c.Argument(1)
	if w.user != nil {
		v = pass(w.user(c.This, c.Arguments...))
		h.writing = w
	}
	w.bytes += size(c.Argument(0)) + size(v) + 8
	if w.indents {
		w.bytes += 10 * len(w.within)
	}
	h.within(float64(w.bytes), mostBytes, "characters of JSON")
	w.next, _ = v.(*sobek.Object)
	return v
}
