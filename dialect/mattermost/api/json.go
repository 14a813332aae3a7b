package api

import (
	"bytes"
	"errors"
	"strconv"
	"unicode/utf8"

	"plimsoll/load/wire"
)

var errJSON = errors.New("malformed JSON")

// mostElements bounds the members of an object and the elements of an array. A user of a real
// server gets far fewer; a user's copies of as many take a few megabytes.
const mostElements = 50_000

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index behind the string that begins at b[i].
func skipString(b []byte, i int) (int, error) {
	for i++; ; {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return 0, errJSON
		}
		end := i + n
		back := end
		for back > i && b[back-1] == '\\' {
			back--
		}
		if i = end + 1; (end-back)%2 == 0 {
			return i, nil
		}
	}
}

// skipValue returns the index behind the value that begins at b[i].
func skipValue(b []byte, i int) (int, error) {
	if i >= len(b) {
		return 0, errJSON
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		for depth := 0; i < len(b); i++ {
			switch b[i] {
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1, nil
				}
			case '"':
				end, err := skipString(b, i)
				if err != nil {
					return 0, err
				}
				i = end - 1
			}
		}
		return 0, errJSON
	}
	start := i
	for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && b[i] != ' ' && b[i] != '\n' &&
		b[i] != '\t' && b[i] != '\r' {
		i++
	}
	switch v := b[start:i]; {
	case string(v) == "null", string(v) == "true", string(v) == "false":
	case len(v) > 0 && (v[0] == '-' || '0' <= v[0] && v[0] <= '9'):
	default:
		return 0, errJSON
	}
	return i, nil
}

// eachField calls f for every member of a JSON object, in order, with the key as it stands between
// its quotes and the value as it is written, a string with its quotes. Nothing but space may follow
// the object.
func eachField(b []byte, f func(key, value []byte) error) error {
	return each(b, '{', '}', f)
}

// eachElement calls f for every element of a JSON array, in order.
func eachElement(b []byte, f func(value []byte) error) error {
	return each(b, '[', ']', func(_, value []byte) error { return f(value) })
}

func each(b []byte, open, shut byte, f func(key, value []byte) error) error {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != open {
		return errJSON
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == shut {
		i++
	} else {
		for n := 1; ; n++ {
			if n > mostElements {
				return wire.Exceeded(wire.ErrElements)
			}
			var key []byte
			if open == '{' {
				if i >= len(b) || b[i] != '"' {
					return errJSON
				}
				end, err := skipString(b, i)
				if err != nil {
					return err
				}
				key = b[i+1 : end-1]
				if i = skipSpace(b, end); i >= len(b) || b[i] != ':' {
					return errJSON
				}
				i = skipSpace(b, i+1)
			}
			end, err := skipValue(b, i)
			if err != nil {
				return err
			}
			if err := f(key, b[i:end]); err != nil {
				return err
			}
			if i = skipSpace(b, end); i >= len(b) {
				return errJSON
			}
			if b[i] == shut {
				i++
				break
			}
			if b[i] != ',' {
				return errJSON
			}
			i = skipSpace(b, i+1)
		}
	}
	if skipSpace(b, i) != len(b) {
		return errJSON
	}
	return nil
}

// text returns the contents of a JSON string, in place if nothing in it is escaped; anything else
// gives nil.
func text(value []byte) []byte {
	if len(value) < 2 || value[0] != '"' {
		return nil
	}
	value = value[1 : len(value)-1]
	if bytes.IndexByte(value, '\\') < 0 {
		return value
	}
	return appendUnescaped(nil, value)
}

// appendUnescaped appends the contents of a JSON string whose quotes are off. A broken escape is
// kept as it is.
func appendUnescaped(dst, s []byte) []byte {
	for {
		n := bytes.IndexByte(s, '\\')
		if n < 0 || n+1 == len(s) {
			return append(dst, s...)
		}
		dst = append(dst, s[:n]...)
		c := s[n+1]
		s = s[n+2:]
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r, ok := hex4(s)
			if !ok {
				dst = append(dst, '\\', 'u')
				continue
			}
			s = s[4:]
			if r >= 0xd800 && r < 0xe000 {
				low := rune(0)
				if len(s) >= 6 && s[0] == '\\' && s[1] == 'u' {
					low, _ = hex4(s[2:])
				}
				if r < 0xdc00 && low >= 0xdc00 && low < 0xe000 {
					r = (r-0xd800)<<10 | (low - 0xdc00) + 0x10000
					s = s[6:]
				} else {
					r = utf8.RuneError
				}
			}
			dst = utf8.AppendRune(dst, r)
			continue
		}
		dst = append(dst, c)
	}
}

func hex4(s []byte) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s[:4]), 16, 16)
	return rune(n), err == nil
}

// number returns the value of a JSON integer, or 0.
func number(value []byte) int64 {
	n, _ := strconv.ParseInt(string(value), 10, 64)
	return n
}

// appendString appends s as a JSON string.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			b = utf8.AppendRune(b, r) // a bad byte becomes the replacement character
			i += n
			continue
		}
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c == 0x7f:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
		i++
	}
	return append(b, '"')
}

// object builds {"key":value,...} of texts, numbers, switches, lists of texts, and values that are
// built already; an empty text leaves the pair out.
func object(b []byte, pairs ...any) []byte {
	b = append(b, '{')
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			continue
		}
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(appendString(b, pairs[i].(string)), ':')
		switch v := pairs[i+1].(type) {
		case string:
			b = appendString(b, v)
		case int:
			b = strconv.AppendInt(b, int64(v), 10)
		case bool:
			b = strconv.AppendBool(b, v)
		case []string:
			b = list(b, v)
		case []byte:
			b = append(b, v...)
		}
	}
	return append(b, '}')
}

// list builds ["a","b",...].
func list(b []byte, items []string) []byte {
	return array(b, len(items), func(b []byte, i int) []byte { return appendString(b, items[i]) })
}

// array builds an array of n elements; one appends the element i.
func array(b []byte, n int, one func(b []byte, i int) []byte) []byte {
	b = append(b, '[')
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(b, i)
	}
	return append(b, ']')
}
