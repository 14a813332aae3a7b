package refnull

import (
	"bytes"
	"regexp"
	"strconv"
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

// variable matches a variable: a word; a kind and the name of a field; or a subject, which is a
// field or a word, behind a letter or none.
var variable = regexp.MustCompile(
	`\$(?:(now|new|body|size|bot)|([lio]):(\w+);|([a-z]?)(?:f:(\w+);|(me|it|team|[1-4])))`,
)

// compile cuts a template; see api.txt.
func compile(text string) (out []piece) {
	at := 0
	for _, m := range variable.FindAllStringSubmatchIndex(text, -1) {
		group := func(i int) string { return text[max(m[2*i], 0):max(m[2*i+1], 0)] }
		out = append(out, piece{text: text[at:m[0]]})
		at = m[1]
		switch word, kind, name := group(1), group(2), group(3); {
		case word != "":
			out = append(out, piece{fill: words[word]})
		case kind != "":
			out = append(out, piece{fill: func(b []byte, f *filling) []byte {
				return fields[kind](b, f.r.body, name)
			}})
		default:
			out = append(out, piece{fill: about(group(4), subject(group(5), group(6)))})
		}
	}
	return append(out, piece{text: text[at:]})
}

// words are the variables of one word.
var words = map[string]func(b []byte, f *filling) []byte{
	"now": func(b []byte, _ *filling) []byte {
		return strconv.AppendInt(b, time.Now().UnixMilli(), 10)
	},
	"new":  func(b []byte, f *filling) []byte { return f.s.fresh(b) },
	"body": func(b []byte, f *filling) []byte { return append(b, f.r.body...) },
	"size": func(b []byte, f *filling) []byte {
		return strconv.AppendInt(b, int64(fileSize(f.r.body)), 10)
	},
	"bot": func(b []byte, f *filling) []byte {
		return strconv.AppendBool(b, bytes.HasSuffix(f.it, []byte("bot")))
	},
}

// fields are the variables that the name of one of the body's fields follows.
var fields = map[string]func(b, body []byte, name string) []byte{
	"l": func(b, body []byte, name string) []byte { return append(b, array(body, name)...) },
	"o": func(b, body []byte, name string) []byte { return append(b, object(body, name)...) },
	"i": func(b, body []byte, name string) []byte {
		return strconv.AppendInt(b, integer(body, `"`+name+`":`), 10)
	},
}

// subject returns what finds a field of the body, or a word.
func subject(name, word string) func(*filling) []byte {
	switch word {
	case "":
		return func(f *filling) []byte { return field(f.r.body, name) }
	case "me":
		return func(f *filling) []byte { return f.r.token }
	case "it":
		return func(f *filling) []byte { return f.it }
	case "team":
		return func(*filling) []byte { return teamID }
	}
	k := int(word[0] - '1')
	return func(f *filling) []byte { return f.r.args[k] }
}

// about returns what writes a subject, or what the letter before it makes of it.
func about(letter string, of func(*filling) []byte) func(b []byte, f *filling) []byte {
	switch letter {
	case "":
		return func(b []byte, f *filling) []byte { return append(b, of(f)...) }
	case "h":
		return func(b []byte, f *filling) []byte { return f.s.id(b, of(f)) }
	case "n":
		return func(b []byte, f *filling) []byte { return f.s.name(b, of(f)) }
	}
	at := 0
	if letter >= "p" { // an id that belongs to a channel, whose own letter must stay
		at = 1
	}
	return func(b []byte, f *filling) []byte {
		id := of(f)
		if len(id) <= at+1 {
			return append(b, letter...)
		}
		return append(append(append(b, id[:at]...), letter...), id[at+1:]...)
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
