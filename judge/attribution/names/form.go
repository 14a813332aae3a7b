package names

import (
	"strconv"
	"strings"
)

// longest is the length in bytes beyond which a name is compared as it is and not taken apart.
const longest = 16 << 10

// A form is a name in parts.
type form struct {
	whole string // the name of which it is an instance or a part
	pkg   string // the path of its package; empty if it has none
	rest  string // what follows the package: receiver, name, closures

	// What a closure has: rest is parent, separator, kind and number.
	parent string // the function in which it is written, without its package
	kind   string // such as "func" or "-range"; empty if it is no closure
	number int    // its place among those of its parent
}

// parse takes a name apart.
func parse(name, file string) form {
	f := form{whole: Whole(name, file)}
	if len(name) > longest {
		f.rest = name
		return f
	}
	f.pkg, f.rest = split(f.whole)
	if f.pkg != "" {
		f.parent, f.kind, f.number = closure(f.rest)
	}
	return f
}

// Whole returns the name of the function of which name, in a source file of that name, is an
// instance or a part: "[...]" stands for the type arguments of a Go function, and the suffixes of
// the parts into which GCC and LLVM split a function, such as .constprop.0, .isra.0, .part.0 and
// .cold, are gone. An empty file may be of any language.
func Whole(name, file string) string {
	if len(name) > longest {
		return name
	}
	if strings.HasSuffix(file, ".go") || strings.ContainsAny(name, "/[(") {
		return WithoutArguments(name)
	}
	return withoutParts(name)
}

// WithoutArguments replaces each list of type arguments by [...]. A name with an open bracket stays
// as it is.
func WithoutArguments(name string) string {
	var b strings.Builder
	depth := 0
	start := 0
	for i := range len(name) {
		switch {
		case name[i] == '[' && depth == 0 && (i == 0 || !identifier(name[i-1])):
			// an array or a slice, or the kernel's: "[kernel] write"
		case name[i] == '[':
			if depth == 0 {
				b.WriteString(name[start:i])
			}
			depth++
		case name[i] == ']' && depth > 0:
			depth--
			if depth == 0 {
				b.WriteString("[...]")
				start = i + 1
			}
		}
	}
	if depth > 0 {
		return name
	}
	b.WriteString(name[start:])
	return b.String()
}

// identifier reports whether c may end a name in a program; bytes of other letters do.
func identifier(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' ||
		c >= 0x80
}

// partSuffixes are those of GCC's and LLVM's parts and clones of a function. A number follows, but
// may be absent after .cold and .localalias.
var partSuffixes = []string{
	".constprop", ".isra", ".part", ".cold", ".lto_priv", ".localalias", ".llvm",
}

const digits = "0123456789"

// withoutParts removes the suffixes of a C compiler.
func withoutParts(name string) string {
	for {
		stem := strings.TrimRight(name, digits)
		if len(stem) < len(name) {
			stem = strings.TrimSuffix(stem, ".")
		}
		rest := ""
		for _, suffix := range partSuffixes {
			if before, ok := strings.CutSuffix(stem, suffix); ok {
				rest = before
			}
		}
		if rest == "" {
			return name
		}
		name = rest
	}
}

// generated begins the names of functions that the compiler makes for types, such as
// type:.eq.PACKAGE.TYPE.
const generated = "type:."

// split returns the path of the package of a function and what follows it.
func split(name string) (pkg, rest string) {
	made := ""
	if strings.HasPrefix(name, generated) {
		n := strings.IndexByte(name[len(generated):], '.') + len(generated) + 1
		made = name[:n]
		name = name[n:]
	}
	head := name
	if n := strings.IndexAny(head, "[({ "); n >= 0 {
		head = head[:n]
	}
	slash := strings.LastIndexByte(head, '/') + 1
	dot := strings.IndexByte(head[slash:], '.')
	if dot < 0 {
		return "", made + name
	}
	return name[:slash+dot], made + name[slash+dot+1:]
}

// closureKinds are what the Go compiler writes before the number of a function without a name: a
// literal in a function, the body of a loop over a function, a call of go or defer; and the last,
// a literal in a closure. Source: closureName in cmd/compile/internal/ir.
var closureKinds = []string{".func", "-range", ".gowrap", ".deferwrap", "."}

// closure returns the parts of the name of a closure. Its kind is empty if it is none.
func closure(rest string) (parent, kind string, number int) {
	stem := strings.TrimRight(rest, digits)
	number, err := strconv.Atoi(rest[len(stem):])
	if err != nil {
		return "", "", 0
	}
	for _, k := range closureKinds {
		parent, ok := strings.CutSuffix(stem, k)
		if !ok {
			continue
		}
		if k == "." && (parent == "init" || parent == "map.init") {
			break // one of several functions init
		}
		return parent, k, number
	}
	return "", "", 0
}

// receiver returns the type of a method, and what stands before and after it. A plain function has
// no type.
func (f form) receiver() (before, typ, after string) {
	if strings.HasPrefix(f.rest, "(") {
		typ = strings.TrimPrefix(f.rest[1:], "*")
		before = f.rest[:len(f.rest)-len(typ)]
		n := strings.IndexAny(typ, "[)")
		if n <= 0 {
			return "", "", f.rest
		}
		return before, typ[:n], typ[n:]
	}
	n := strings.IndexAny(f.rest, ".[")
	if n <= 0 || f.kind != "" && n >= len(f.parent) || !strings.Contains(f.rest[n:], ".") {
		return "", "", f.rest
	}
	return "", f.rest[:n], f.rest[n:]
}

// elements returns the elements of the path of a package without versions: v2 as an element, and
// .v2 at the end of one.
func elements(pkg string) []string {
	var all []string
	for element := range strings.SplitSeq(pkg, "/") {
		element = strings.ReplaceAll(element, "%2e", ".")
		if n := strings.LastIndexByte(element, '.'); n > 0 && isVersion(element[n+1:]) {
			element = element[:n]
		}
		if !isVersion(element) {
			all = append(all, element)
		}
	}
	return all
}

// isVersion reports whether an element of a path is v and a number.
func isVersion(element string) bool {
	return len(element) > 1 && element[0] == 'v' && strings.Trim(element[1:], digits) == ""
}

// pointerless replaces each (*T) by T.
func pointerless(name string) string {
	if !strings.Contains(name, "(*") {
		return name
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(name, "(*")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		receiver, following, closed := strings.Cut(after, ")")
		if !closed {
			b.WriteString("(*" + after)
			return b.String()
		}
		b.WriteString(receiver)
		name = following
	}
}
