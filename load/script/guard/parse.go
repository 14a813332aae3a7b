package guard

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/grafana/sobek"
)

// parses puts a JSON.parse that bounds what a server may have written, at a fraction of the cost of the
// one that was there, which is that of a message of a socket.
func (h *hardener) parses(of *sobek.Object, name string) error {
	before, _ := sobek.AssertFunction(of.Get(name))
	return h.put(of, name, func(c sobek.FunctionCall) sobek.Value {
		text := c.Argument(0)
		if h.text(&text); size(text) == 0 { // also undefined, null and Symbols
			return pass(before(c.This, text))
		}
		p := parser{h: h, text: text.String()}
		v := p.value()
		if p.space(); p.at < len(p.text) {
			p.fail()
		}
		if _, ok := sobek.AssertFunction(c.Argument(1)); ok {
			return pass(before(c.This, text, c.Argument(1)))
		}
		return v
	})
}

// A parser reads a JSON text into values, as ECMA-262 has it (section 25.5.1).
type parser struct {
	h             *hardener
	text          string
	at            int
	depth, values int
}

// fail throws a SyntaxError.
func (p *parser) fail() {
	if p.at >= len(p.text) {
		p.h.throw("SyntaxError", "Unexpected end of JSON input")
	}
	p.h.throw("SyntaxError", "Unexpected %q at byte %d of the JSON text", p.text[p.at], p.at)
}

func (p *parser) space() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// next passes spaces, and the byte after them if it is this one.
func (p *parser) next(c byte) bool {
	p.space()
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *parser) value() sobek.Value {
	p.values++
	p.h.within(float64(p.values), mostElements, "values")
	switch {
	case p.next('{'):
		return p.object()
	case p.next('['):
		return p.array()
	case p.next('"'):
		return p.h.rt.ToValue(p.string())
	case strings.HasPrefix(p.text[p.at:], "true"):
		p.at += len("true")
		return p.h.rt.ToValue(true)
	case strings.HasPrefix(p.text[p.at:], "false"):
		p.at += len("false")
		return p.h.rt.ToValue(false)
	case strings.HasPrefix(p.text[p.at:], "null"):
		p.at += len("null")
		return sobek.Null()
	}
	return p.number()
}

// enter begins an object or a list, and reports whether it has members.
func (p *parser) enter(end byte) bool {
	p.depth++
	p.h.within(float64(p.depth), mostSource, "values in values")
	return !p.next(end)
}

// more reports whether another member follows, or ends the list.
func (p *parser) more(end byte) bool {
	if p.next(',') {
		return true
	}
	if !p.next(end) {
		p.fail()
	}
	return false
}

func (p *parser) object() sobek.Value {
	o := p.h.rt.NewObject()
	for more := p.enter('}'); more; more = p.more('}') {
		if !p.next('"') {
			p.fail()
		}
		key := p.string()
		if !p.next(':') {
			p.fail()
		}
		// Not Set: a script may have given Object.prototype a setter.
		err := o.DefineDataProperty(key, p.value(), sobek.FLAG_TRUE, sobek.FLAG_TRUE, sobek.FLAG_TRUE)
		if err != nil {
			panic(err)
		}
	}
	p.depth--
	return o
}

func (p *parser) array() sobek.Value {
	var items []any
	for more := p.enter(']'); more; more = p.more(']') {
		items = append(items, p.value())
	}
	p.depth--
	return p.h.rt.NewArray(items...)
}

// string reads the rest of a string. What it returns does not hold the whole text in memory.
func (p *parser) string() string {
	start, escaped := p.at, false
	for ; p.at < len(p.text) && p.text[p.at] != '"'; p.at++ {
		switch c := p.text[p.at]; {
		case c < ' ':
			p.fail()
		case c == '\\':
			escaped = true
			p.at++
		}
	}
	if p.at >= len(p.text) {
		p.fail()
	}
	p.at++
	if !escaped {
		return strings.Clone(p.text[start : p.at-1])
	}
	var s string
	if json.Unmarshal([]byte(p.text[start-1:p.at]), &s) != nil {
		p.at = start
		p.fail()
	}
	return s
}

func (p *parser) number() sobek.Value {
	start := p.at
	for p.at < len(p.text) && strings.IndexByte("+-.0123456789eE", p.text[p.at]) >= 0 {
		p.at++
	}
	text := p.text[start:p.at]
	if len(text) < 10 && text != "" && '1' <= text[0] && text[0] <= '9' {
		if n, err := strconv.Atoi(text); err == nil {
			return p.h.rt.ToValue(n)
		}
	}
	if !json.Valid([]byte(text)) {
		p.at = start
		p.fail()
	}
	f, _ := strconv.ParseFloat(text, 64) // of 1e999 it is Infinity
	return p.h.rt.ToValue(f)
}
