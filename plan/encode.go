package plan

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// String returns the plan as canonical YAML: every default written out, keys in one order,
// quantities in one form. [Parse] reads it as an equal plan. References to secrets stay references.
func (p *Plan) String() string {
	var e encoder
	e.object(0, reflect.ValueOf(p).Elem(), planKeys)
	return e.b.String()
}

// Digest returns "sha256:" and the hexadecimal SHA-256 of [Plan.String]. Plans that mean the same
// have the same digest, however they were written.
func (p *Plan) Digest() string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(p.String())))
}

type encoder struct{ b strings.Builder }

func (e *encoder) line(depth int, key, value string) {
	if value != "" {
		value = " " + value
	}
	e.b.WriteString(strings.Repeat("  ", depth) + key + ":" + value + "\n")
}

// An openStruct has a key whose value the file leaves to the program, with the word auto.
type openStruct interface{ autoKey() string }

// object writes the keys of a struct, except empty keys without a default.
func (e *encoder) object(depth int, v reflect.Value, s section) {
	auto := ""
	if v.CanAddr() {
		if open, ok := reflect.TypeAssert[openStruct](v.Addr()); ok {
			auto = open.autoKey()
		}
	}
	for _, k := range s.keys() {
		if k.name == auto {
			e.line(depth, k.name, autoWord)
			continue
		}
		k.encode(e, depth, k.name, fieldOf(v, k.name))
	}
}

// item writes a struct as one entry of a list.
func (e *encoder) item(depth int, v reflect.Value, s section) {
	var item encoder
	item.object(depth+1, v, s)
	e.b.WriteString(strings.Repeat("  ", depth) + "- " + strings.TrimLeft(item.b.String(), " "))
}

// section writes a struct under its key, or nothing if there is nothing in it. It reports whether
// there was something.
func (e *encoder) section(depth int, key string, v reflect.Value, s section) bool {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return false
		}
		v = v.Elem()
	}
	var inner encoder
	inner.object(depth+1, v, s)
	if inner.b.Len() == 0 {
		return false
	}
	e.line(depth, key, "")
	e.b.WriteString(inner.b.String())
	return true
}

// plainRE are texts that YAML reads as they stand, in every version of it.
var (
	plainRE    = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9_./-]*(\([a-z0-9_.-]+\))?$`)
	reservedRE = regexp.MustCompile(`(?i)^(y|n|yes|no|on|off|true|false|null|nan|inf)$`)
)

// quote returns a text as a YAML scalar. Go's quotes use only escapes that YAML reads the same way.
func quote(s string) string {
	if plainRE.MatchString(s) && !reservedRE.MatchString(s) {
		return s
	}
	return strconv.Quote(s)
}
