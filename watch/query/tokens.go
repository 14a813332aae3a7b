package query

import (
	"strings"
	"unicode/utf8"
)

// mostText bounds the part of a statement that is read, in bytes.
const mostText = 8 << 10

// constant stands for a constant or a parameter, and listed for a list of them.
const (
	constant = "?"
	listed   = "(...)"
)

// A scanner cuts SQL into tokens. Constants of all kinds become "?", and comments go to a list.
type scanner struct {
	rest     string
	mysql    bool // a backslash escapes, and a text may stand in double quotes
	comments []string
}

// tokens returns the tokens of a statement and its comments. A constant or comment without an end
// reaches to the end of the text.
func tokens(text string) (out, comments []string) { return tokensOf(text, false) }

// tokensOf is tokens, of a text of MySQL or another server.
func tokensOf(text string, mysql bool) (out, comments []string) {
	text = strings.ToValidUTF8(text[:min(len(text), mostText)], "")
	s := scanner{rest: text, mysql: mysql}
	for s.rest != "" {
		if t := s.next(); t != "" {
			out = append(out, t)
		}
	}
	return out, s.comments
}

// next returns the next token; empty for a space or a comment.
func (s *scanner) next() string {
	c := s.rest[0]
	switch {
	case c <= ' ':
		s.take(1)
		return ""
	case strings.HasPrefix(s.rest, "--"), c == '#' && s.mysql:
		s.comments = append(s.comments, s.until(min(2, len(s.rest)), "\n"))
		return ""
	case strings.HasPrefix(s.rest, "/*"):
		s.comments = append(s.comments, s.block())
		return ""
	case c == '\'' || c == '"' && s.mysql:
		s.quoted(c, s.mysql)
		return constant
	case c == '"' || c == '`':
		return s.quoted(c, false)
	case c == '$':
		return s.dollar()
	case digit(c) || c == '.' && len(s.rest) > 1 && digit(s.rest[1]):
		s.take(s.name("."))
		return constant
	case letter(c):
		return s.word()
	case strings.HasPrefix(s.rest, "..."):
		return s.take(3)
	case operator(c):
		return s.operator()
	}
	_, n := utf8.DecodeRuneInString(s.rest)
	return s.take(n)
}

func (s *scanner) take(n int) (taken string) {
	taken, s.rest = s.rest[:n], s.rest[n:]
	return taken
}

// run returns how many bytes at the beginning are of a kind.
func (s *scanner) run(of func(byte) bool) int {
	for i := range len(s.rest) {
		if !of(s.rest[i]) {
			return i
		}
	}
	return len(s.rest)
}

// until takes the text to an end, and returns it without the n bytes of its beginning.
func (s *scanner) until(n int, end string) string {
	i := strings.Index(s.rest[n:], end)
	if i < 0 {
		return s.take(len(s.rest))[n:]
	}
	return s.take(n + i + len(end))[n : n+i]
}

// block takes a comment, which may hold others.
func (s *scanner) block() string {
	depth := 0
	for i := 0; i+1 < len(s.rest); i++ {
		switch s.rest[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
		}
		if depth == 0 {
			return s.take(i + 1)[2 : i-1]
		}
	}
	return s.take(len(s.rest))[2:]
}

// quoted takes a text in quotes, in which two stand for one.
func (s *scanner) quoted(quote byte, escapes bool) string {
	for i := 1; i < len(s.rest); i++ {
		switch {
		case escapes && s.rest[i] == '\\':
			i++
		case s.rest[i] != quote:
		case i+1 < len(s.rest) && s.rest[i+1] == quote:
			i++
		default:
			return s.take(i + 1)
		}
	}
	return s.take(len(s.rest))
}

// name returns the length of what begins the rest of letters, digits and other characters.
func (s *scanner) name(others string) int {
	return s.run(func(c byte) bool {
		return letter(c) || digit(c) || strings.IndexByte(others, c) >= 0
	})
}

// dollar takes a parameter such as $1, or a constant such as $tag$text$tag$.
func (s *scanner) dollar() string {
	s.take(1)
	n := s.name("")
	if n < len(s.rest) && s.rest[n] == '$' && (n == 0 || !digit(s.rest[0])) {
		s.until(n+1, "$"+s.rest[:n]+"$")
		return constant
	}
	s.take(n)
	return constant
}

// word takes a name or a keyword, or a constant with a prefix such as E'text'.
func (s *scanner) word() string {
	n := s.name("$")
	if n < len(s.rest) && s.rest[n] == '\'' && n <= 2 {
		escapes := s.mysql || s.rest[0] == 'E' || s.rest[0] == 'e'
		s.take(n)
		s.quoted('\'', escapes)
		return constant
	}
	return s.take(n)
}

// operator takes an operator, which ends where a comment begins.
func (s *scanner) operator() string {
	n := 1
	for n < len(s.rest) && operator(s.rest[n]) && !strings.HasPrefix(s.rest[n:], "--") &&
		!strings.HasPrefix(s.rest[n:], "/*") {
		n++
	}
	return s.take(n)
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func letter(c byte) bool {
	return c == '_' || c >= 0x80 || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func operator(c byte) bool { return strings.IndexByte("+-*/<>=~!@#%^&|:", c) >= 0 }
