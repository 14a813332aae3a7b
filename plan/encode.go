package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// String returns the plan as canonical YAML: every default written out, keys in one order, quantities in one form.
// [Parse] reads it as an equal plan. References to secrets stay references.
func (p *Plan) String() string {
	var e encoder
	e.object(0, reflect.ValueOf(p).Elem())
	return e.b.String()
}

// Digest returns "sha256:" and the hexadecimal SHA-256 of [Plan.String]. Plans that mean the same have the same
// digest, however they were written.
func (p *Plan) Digest() string {
	sum := sha256.Sum256([]byte(p.String()))
	return "sha256:" + hex.EncodeToString(sum[:])
}

type encoder struct{ b strings.Builder }

func (e *encoder) line(depth int, key, value string) {
	e.b.WriteString(strings.Repeat("  ", depth))
	e.b.WriteString(key)
	e.b.WriteByte(':')
	if value != "" {
		e.b.WriteByte(' ')
		e.b.WriteString(value)
	}
	e.b.WriteByte('\n')
}

// object writes the keys of a struct; those that are empty and have no default are left out.
func (e *encoder) object(depth int, v reflect.Value) {
	for _, f := range fields(v) {
		if c, ok := reflect.TypeAssert[Compare](v); ok && f.kind == "blocks" && c.Auto() {
			e.line(depth, f.key, autoBlocks)
			continue
		}
		if b, ok := reflect.TypeAssert[Bounded](v); ok && f.kind == "measure" && b.Auto() {
			e.line(depth, f.key, autoMeasure)
			continue
		}
		typeOf(f.typ.Type, f.kind).format(e, depth, f.key, f.value)
	}
}

// item writes a struct as one entry of a list.
func (e *encoder) item(depth int, v reflect.Value) {
	var item encoder
	item.object(depth+1, v)
	e.b.WriteString(strings.Repeat("  ", depth) + "- " + strings.TrimLeft(item.b.String(), " "))
}

// section writes a struct under its key, or nothing if there is nothing in it.
func (e *encoder) section(depth int, key string, v reflect.Value) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	var inner encoder
	inner.object(depth+1, v)
	if inner.b.Len() > 0 {
		e.line(depth, key, "")
		e.b.WriteString(inner.b.String())
	}
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
