package api

import (
	"bytes"
)

// An ID is one of the server's identifiers: 26 letters and digits. The zero ID is none.
type ID [26]byte

// idOf reads an identifier. The server's have 26 letters and digits; a shorter one is padded. A
// longer one is an error, and one with another character than - and _ beside these: identifiers are
// parts of paths and queries.
func idOf(b []byte) (id ID, err error) {
	if len(b) > len(id) {
		return id, noEffect("an identifier of %d characters", len(b))
	}
	for _, c := range b {
		if !inID[c] {
			return id, noEffect("an identifier with the character %q", c)
		}
	}
	copy(id[:], b)
	return id, nil
}

// inID has the characters of identifiers.
var inID = func() (in [256]bool) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") {
		in[c] = true
	}
	return in
}()

// idText reads an identifier as a string; "" for a value that is not a JSON string.
func idText(value []byte) (string, error) {
	id, err := idOf(text(value))
	return id.String(), err
}

// ParseID returns the identifier that a text is known to be, and none for a longer text.
func ParseID(s string) (id ID) {
	if len(s) <= len(id) {
		copy(id[:], s)
	}
	return id
}

// Bytes returns the identifier as the server writes it, in place.
func (id *ID) Bytes() []byte {
	if n := bytes.IndexByte(id[:], 0); n >= 0 {
		return id[:n]
	}
	return id[:]
}

// String returns the identifier as the server writes it.
func (id ID) String() string {
	return string(id.Bytes())
}

// None reports whether the identifier is zero.
func (id ID) None() bool { return id == ID{} }
