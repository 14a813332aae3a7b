package refnull

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// A piece is text, or something that the request decides.
type piece struct {
	text string
	fill func(b []byte, f *filling) []byte
}

// A filling holds the values that a template may use.
type filling struct {
	s  *Server
	r  *request
	it []byte
}

// compile cuts a template; see answer.
func compile(text string) (out []piece) {
	for {
		at := strings.IndexByte(text, '$')
		if at < 0 {
			return append(out, piece{text: text})
		}
		out = append(out, piece{text: text[:at]})
		text = text[at+1:]
		fill, n := variable(text)
		out = append(out, piece{fill: fill})
		text = text[n:]
	}
}

// variables are the variables of one word.
var variables = map[string]func(b []byte, f *filling) []byte{
	"now":  func(b []byte, _ *filling) []byte { return strconv.AppendInt(b, time.Now().UnixMilli(), 10) },
	"new":  func(b []byte, f *filling) []byte { return f.s.fresh(b) },
	"body": func(b []byte, f *filling) []byte { return append(b, f.r.body...) },
	"size": func(b []byte, f *filling) []byte { return strconv.AppendInt(b, int64(fileSize(f.r.body)), 10) },
	"bot":  func(b []byte, f *filling) []byte { return strconv.AppendBool(b, bytes.HasSuffix(f.it, []byte("bot"))) },
}

// fields are the variables that the name of one of the body's fields follows.
var fields = map[string]func(b, body []byte, name string) []byte{
	"l": func(b, body []byte, name string) []byte { return append(b, array(body, name)...) },
	"o": func(b, body []byte, name string) []byte { return append(b, object(body, name)...) },
	"i": func(b, body []byte, name string) []byte {
		return strconv.AppendInt(b, integer(body, `"`+name+`":`), 10)
	},
}

// variable reads one variable and returns its length.
func variable(text string) (func([]byte, *filling) []byte, int) {
	subject := func(text string) (func(*filling) []byte, int) {
		switch {
		case strings.HasPrefix(text, "f:"):
			name, _, _ := strings.Cut(text[2:], ";")
			return func(f *filling) []byte { return field(f.r.body, name) }, 2 + len(name) + 1
		case strings.HasPrefix(text, "me"):
			return func(f *filling) []byte { return f.r.token }, 2
		case strings.HasPrefix(text, "it"):
			return func(f *filling) []byte { return f.it }, 2
		case strings.HasPrefix(text, "team"):
			return func(*filling) []byte { return teamID }, 4
		case text != "" && text[0] >= '1' && text[0] <= '4':
			k := int(text[0] - '1')
			return func(f *filling) []byte { return f.r.args[k] }, 1
		}
		return nil, 0
	}
	for name, fill := range variables {
		if strings.HasPrefix(text, name) {
			return fill, len(name)
		}
	}
	if kind, rest, _ := strings.Cut(text, ":"); fields[kind] != nil {
		name, _, _ := strings.Cut(rest, ";")
		return func(b []byte, f *filling) []byte { return fields[kind](b, f.r.body, name) },
			2 + len(name) + 1
	}
	if of, n := subject(text); of != nil {
		return func(b []byte, f *filling) []byte { return append(b, of(f)...) }, n
	}
	of, n := subject(text[1:])
	if of == nil {
		panic("refnull: no variable $" + text[:min(len(text), 10)]) // the table is a constant, tested
	}
	switch letter := text[0]; letter {
	case 'h':
		return func(b []byte, f *filling) []byte { return f.s.id(b, of(f)) }, 1 + n
	case 'n':
		return func(b []byte, f *filling) []byte { return f.s.name(b, of(f)) }, 1 + n
	default:
		return func(b []byte, f *filling) []byte {
			id := of(f)
			at := 0
			if letter >= 'p' { // an id that belongs to a channel, whose own letter must stay
				at = 1
			}
			if len(id) <= at+1 {
				return append(b, letter)
			}
			return append(append(append(b, id[:at]...), letter), id[at+1:]...)
		}, 1 + n
	}
}

func fill(b []byte, pieces []piece, f *filling) []byte {
	for i := range pieces {
		if p := &pieces[i]; p.fill != nil {
			b = p.fill(b, f)
		} else {
			b = append(b, p.text...)
		}
	}
	return b
}
