package plain

import (
	"encoding/binary"
	"encoding/json"
	"hash/maphash"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Redacted stands in the place of a secret.
const Redacted = "[redacted]"

const (
	shortest = 4  // bytes of a secret that is recognized
	head     = 63 // bytes by which a longer one is recognized
)

// Secrets is a registry of values that may not be shown: passwords, addresses of databases, tokens
// that a target has issued. It keeps hashes of them, about 50 bytes each, so that the secrets of a
// hundred thousand users cost little; a search through a text costs the same for ten secrets as for
// a hundred thousand.
//
// A value is recognized at any place, also inside a longer word. A value that could be one of our
// words, because it is shorter than 8 bytes, or shorter than 16 and of letters alone or digits
// alone, is recognized only as a separate word, so that the password "postgres" does not spoil the
// engine's name "postgresql". A value shorter than 4 bytes is not recognized at all. A value longer
// than 63 bytes is recognized by its first 63, and everything up to a space or a quote is replaced.
//
// A nil *Secrets knows none. The zero value is ready. It is safe for concurrent use.
type Secrets struct {
	mu     sync.RWMutex
	seed   maphash.Seed
	starts map[uint32]uint64 // the first four bytes -> which lengths begin so, by bit
	values map[uint64]kind   // by hash of the value, or of its head
}

// kind is the way in which a value is recognized.
type kind uint8

const (
	known kind = 1 << iota
	word       // only as a separate word
	long       // to the next space or quote
)

// Add registers values, and the forms that encoders make of them. It is for moments when a secret
// comes into the program: a login, a plan's reference.
func (s *Secrets) Add(values ...string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range values {
		if len(v) < shortest {
			continue
		}
		s.add(v)
		if !tokenShaped(v) {
			for _, form := range forms(v) {
				if form != v {
					s.add(form)
				}
			}
		}
	}
}

// tokenShaped reports whether encoders leave a value as it is.
func tokenShaped(v string) bool {
	for i := range len(v) {
		if c := v[i]; !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '_' || c == '.') {
			return false
		}
	}
	return true
}

// forms returns the encodings of a value as JSON, in URLs, as a Go string and by this package.
func forms(v string) []string {
	out := []string{url.QueryEscape(v), url.PathEscape(v), Text(v)}
	if b, err := json.Marshal(v); err == nil {
		out = append(out, string(b[1:len(b)-1]))
	}
	if u := url.UserPassword("", v).String(); len(u) > 1 {
		out = append(out, u[1:])
	}
	q := strconv.Quote(v)
	return append(out, q[1:len(q)-1])
}

// add registers one value. The lock is held.
func (s *Secrets) add(v string) {
	if s.values == nil {
		s.seed, s.starts, s.values = maphash.MakeSeed(), map[uint32]uint64{}, map[uint64]kind{}
	}
	k := known
	if wordShaped(v) {
		k |= word
	}
	if len(v) > head {
		v, k = v[:head], k|long
	}
	h := maphash.String(s.seed, v)
	if old, ok := s.values[h]; ok {
		k = old&k | (old|k)&long // one that is recognized anywhere stays so
	}
	s.values[h] = k
	s.starts[start(v)] |= 1 << len(v)
}

func start(v string) uint32 { return binary.LittleEndian.Uint32([]byte(v[:shortest])) }

// wordShaped reports whether a value may well be a word or a number of ours.
func wordShaped(v string) bool {
	if len(v) < 8 {
		return true
	}
	if len(v) >= 16 {
		return false
	}
	letters, digits := 0, 0
	for _, r := range v {
		switch {
		case unicode.IsLetter(r):
			letters++
		case unicode.IsDigit(r):
			digits++
		default:
			return false
		}
	}
	return letters == 0 || digits == 0
}

// Redact returns text with every secret replaced by [Redacted]. It allocates only where there is
// one.
func (s *Secrets) Redact(text string) string { return s.redact(text, true) }

// JSON is [JSON] of b with every secret replaced that is recognized wherever it stands. Those that
// could be words of ours stay, because a stored value that was replaced cannot be read again:
// redact text of others before it is encoded.
func (s *Secrets) JSON(b []byte) []byte {
	b = JSON(b)
	if s == nil {
		return b
	}
	text := string(b)
	if out := s.redact(text, false); out != text {
		return []byte(out)
	}
	return b
}

// Label returns the text of a label with every secret replaced that is recognized wherever it
// stands. Those that could be words of ours stay: a password such as "postgres" is also the name of
// a database.
func (s *Secrets) Label(text string) string { return s.redact(text, false) }

// Text is [Text] of s after redaction.
func (s *Secrets) Text(text string) string { return Text(s.Redact(text)) }

func (s *Secrets) redact(text string, words bool) string {
	if s == nil {
		return text
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(s.values) == 0 {
		return text
	}
	var b strings.Builder
	from := 0
	for i := 0; i+shortest <= len(text); {
		end := s.match(text, i, words)
		if end == 0 {
			i++
			continue
		}
		b.WriteString(text[from:i])
		b.WriteString(Redacted)
		i, from = end, end
	}
	if from == 0 {
		return text
	}
	b.WriteString(text[from:])
	return b.String()
}

// match returns where a secret ends that begins at i, the longest if there are several, or 0.
func (s *Secrets) match(text string, i int, words bool) (end int) {
	lengths := s.starts[start(text[i:])]
	for n := head; n >= shortest && lengths != 0; n-- {
		if lengths&(1<<n) == 0 || i+n > len(text) {
			continue
		}
		k := s.values[maphash.String(s.seed, text[i:i+n])]
		switch {
		case k == 0, k&word != 0 && (!words || !alone(text, i, i+n)):
		case k&long != 0:
			if j := strings.IndexAny(text[i+n:], " \t\r\n\"'`<>\\"); j >= 0 {
				return i + n + j
			}
			return len(text)
		default:
			return i + n
		}
	}
	return s.cutOff(text, i, lengths)
}

// cutOff is match for a secret whose end an [Excerpt] has cut off: a text that begins like one and
// goes on to the mark in one word.
func (s *Secrets) cutOff(text string, i int, lengths uint64) int {
	if lengths == 0 {
		return 0
	}
	stop := strings.IndexFunc(text[i:min(len(text), i+head+len(cut))], func(r rune) bool {
		return r == '…' || unicode.IsSpace(r) || r == '"'
	})
	if stop > shortest && strings.HasPrefix(text[i+stop:], cut) {
		return i + stop
	}
	return 0
}

// alone reports whether neither neighbor of a stretch of text is a letter or a digit.
func alone(text string, from, to int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:from])
	after, _ := utf8.DecodeRuneInString(text[to:])
	return !inWord(before) && !inWord(after)
}

func inWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
