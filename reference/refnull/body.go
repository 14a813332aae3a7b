package refnull

import (
	"bytes"
)

// field returns the string that a flat JSON object has under a name, as it is written there
// (escapes are kept), or nothing. It finds the first such name, at any depth.
func field(body []byte, name string) []byte {
	v, _, _ := cutString(member(body, name))
	return v
}

// array returns the array of strings that it has under a name, or an empty one.
func array(body []byte, name string) []byte {
	v := member(body, name)
	if len(v) == 0 || v[0] != '[' {
		return []byte("[]")
	}
	for i := 1; i < len(v); {
		switch v[i] {
		case ']':
			return v[:i+1]
		case '"':
			_, rest, ok := cutString(v[i:])
			if !ok {
				return []byte("[]")
			}
			i = len(v) - len(rest)
		default:
			i++
		}
	}
	return []byte("[]")
}

// object returns the object that it has under a name, or an empty one.
func object(body []byte, name string) []byte {
	v := member(body, name)
	depth := 0
	for i := 0; i < len(v); i++ {
		switch v[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return v[:i+1]
			}
		case '"':
			_, rest, ok := cutString(v[i:])
			if !ok {
				return []byte("{}")
			}
			i = len(v) - len(rest) - 1
		}
		if depth == 0 {
			break
		}
	}
	return []byte("{}")
}

// member returns the text behind "name": in a JSON text, or nothing.
func member(body []byte, name string) []byte {
	for len(body) > 0 {
		at := bytes.IndexByte(body, '"')
		if at < 0 {
			return nil
		}
		s, rest, ok := cutString(body[at:])
		if !ok {
			return nil
		}
		rest = bytes.TrimLeft(rest, " \t\r\n")
		if string(s) == name && len(rest) > 0 && rest[0] == ':' {
			return bytes.TrimLeft(rest[1:], " \t\r\n")
		}
		body = rest
	}
	return nil
}

// each calls f for every string of an array, or with a name for the string under it in every object
// of an array.
func each(body []byte, name string, f func([]byte)) {
	if name == "#" {
		for range min(integer(body, ""), 100) + 1 {
			f(nil)
		}
		return
	}
	for {
		at := bytes.IndexByte(body, '"')
		if at < 0 {
			return
		}
		s, rest, ok := cutString(body[at:])
		if !ok {
			return
		}
		body = rest
		if name == "" {
			f(s)
		} else if string(s) == name {
			if at = bytes.IndexByte(body, '"'); at < 0 {
				return
			}
			if s, body, ok = cutString(body[at:]); !ok {
				return
			}
			f(s)
		}
	}
}

// cutString cuts a JSON string off the beginning of b, without its quotes.
func cutString(b []byte) (s, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '"' {
		return nil, b, false
	}
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return b[1:i], b[i+1:], true
		}
	}
	return nil, b, false
}

// fileSize returns the length of the first part of a multipart form.
func fileSize(form []byte) int {
	boundary, rest, ok := bytes.Cut(form, []byte("\r\n"))
	_, rest, ok2 := bytes.Cut(rest, []byte("\r\n\r\n"))
	if !ok || !ok2 {
		return len(form)
	}
	part, _, _ := bytes.Cut(rest, append([]byte("\r\n"), boundary...))
	return len(part)
}
