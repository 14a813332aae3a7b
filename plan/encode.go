package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
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
		e.field(depth, f)
	}
}

func (e *encoder) field(depth int, f field) {
	switch v := f.value.Interface().(type) {
	case string:
		if v != "" {
			e.line(depth, f.key, quote(v))
		}
	case bool:
		if !v && f.kind == "optional" {
			return
		}
		e.line(depth, f.key, strconv.FormatBool(v))
	case int:
		if v == 0 && f.kind == "optional" {
			return
		}
		e.line(depth, f.key, strconv.Itoa(v))
	case uint64:
		e.line(depth, f.key, strconv.FormatUint(v, 10))
	case float64:
		if v == 0 && f.kind == "percent" {
			return // a share that may be left out; none may be 0
		}
		if f.kind == "percent" {
			e.line(depth, f.key, formatPercent(v))
		} else {
			e.line(depth, f.key, formatNumber(v))
		}
	case time.Duration:
		if v == 0 && f.kind == "optional" {
			return
		}
		e.line(depth, f.key, formatDuration(v))
	case Addresses:
		if len(v) == 1 {
			e.line(depth, f.key, quote(v[0]))
		} else {
			e.list(depth, f.key, v, quote)
		}
	case []string:
		e.list(depth, f.key, v, quote)
	case []int:
		if len(v) > 0 {
			e.line(depth, f.key, strings.ReplaceAll(fmt.Sprint(v), " ", ", "))
		}
	case Rate:
		e.line(depth, f.key, v.String())
	case Gates:
		v.encode(e, depth, f.key)
	case []SLO:
		if len(v) > 0 {
			e.line(depth, f.key, "")
			for _, r := range v {
				e.b.WriteString(strings.Repeat("  ", depth+1) + "- " + strconv.Quote(r.String()) + "\n")
			}
		}
	case Env:
		e.env(depth, f.key, v)
	case map[string]string:
		encodeMap(e, depth, f.key, v, slices.Sorted(maps.Keys(v)), quote)
	case map[string]float64:
		show := formatNumber
		if f.kind == "percent" {
			show = formatPercent
		}
		encodeMap(e, depth, f.key, v, slices.Sorted(maps.Keys(v)), show)
	case []Stage:
		if len(v) > 0 {
			e.line(depth, f.key, "")
		}
		for _, s := range v {
			e.item(depth+1, reflect.ValueOf(&s).Elem())
		}
	case []Probe:
		if len(v) > 0 {
			e.line(depth, f.key, "")
		}
		for _, p := range v {
			e.item(depth+1, reflect.ValueOf(&p).Elem())
		}
	case []Offer:
		if len(v) > 0 {
			e.line(depth, f.key, "")
		}
		for _, o := range v {
			e.item(depth+1, reflect.ValueOf(&o).Elem())
		}
	case Rates:
		e.line(depth, f.key, v.String())
	case map[string]LinkLimit:
		if len(v) > 0 {
			e.line(depth, f.key, "")
		}
		for _, role := range slices.Sorted(maps.Keys(v)) {
			l := v[role]
			e.section(depth+1, field{key: role, value: reflect.ValueOf(&l).Elem()})
		}
	case Bitrate:
		if v != 0 { // no limit
			e.line(depth, f.key, v.String())
		}
	case Memory:
		if v != 0 { // an amount that may be left out; none may be 0
			e.line(depth, f.key, v.String())
		}
	case Expectation:
		if v != (Expectation{}) {
			e.line(depth, f.key, quote(v.String()))
		}
	case DiskLimit:
		if v > 0 {
			e.line(depth, f.key, v.String())
		}
	case LastPart:
		if v > 0 {
			e.line(depth, f.key, v.String())
		}
	case PerEngine:
		if one, ok := v[""]; ok && one == autoUsers {
			e.line(depth, f.key, autoUsersText)
			return
		} else if ok {
			e.line(depth, f.key, strconv.Itoa(one))
			return
		}
		encodeMap(e, depth, f.key, v, slices.Sorted(maps.Keys(v)), strconv.Itoa)
	case Margin:
		encodeMap(e, depth, f.key, v, slices.Sorted(maps.Keys(v)), MarginValue.String)
	case []Arm:
		e.line(depth, f.key, "")
		for _, a := range v {
			var arm encoder
			arm.object(depth+2, reflect.ValueOf(&a).Elem())
			if arm.b.Len() == 0 {
				e.line(depth+1, quote(a.Name), "{}")
				continue
			}
			e.line(depth+1, quote(a.Name), "")
			e.b.WriteString(arm.b.String())
		}
	case []SetupRow:
		if len(v) > 0 {
			e.line(depth, f.key, "")
		}
		for _, r := range v {
			e.line(depth+1, quote(r.Name), quote(r.Value))
		}
	default:
		e.section(depth, f)
	}
}

// item writes a struct as one entry of a list.
func (e *encoder) item(depth int, v reflect.Value) {
	var item encoder
	item.object(depth+1, v)
	e.b.WriteString(strings.Repeat("  ", depth) + "- " + strings.TrimLeft(item.b.String(), " "))
}

// section writes a struct under its key, or nothing if there is nothing in it.
func (e *encoder) section(depth int, f field) {
	v := f.value
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	var inner encoder
	inner.object(depth+1, v)
	if inner.b.Len() > 0 {
		e.line(depth, f.key, "")
		e.b.WriteString(inner.b.String())
	}
}

func (e *encoder) list(depth int, key string, v []string, show func(string) string) {
	if len(v) == 0 {
		return
	}
	words := make([]string, len(v))
	for i, s := range v {
		words[i] = show(s)
	}
	e.line(depth, key, "["+strings.Join(words, ", ")+"]")
}

func encodeMap[T any](e *encoder, depth int, key string, m map[string]T, keys []string, show func(T) string) {
	if len(keys) == 0 {
		return
	}
	e.line(depth, key, "")
	for _, k := range keys {
		e.line(depth+1, quote(k), show(m[k]))
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
