package api

import (
	"slices"
	"strconv"
)

// shows requires an object to have members with these texts, given as pairs of key and text; the
// text "" stands for any but an empty one.
func shows(b []byte, pairs ...string) error {
	found := 0
	if err := eachField(b, func(k, v []byte) error {
		for i := 0; i < len(pairs); i += 2 {
			if string(k) != pairs[i] {
				continue
			}
			if got := text(v); len(got) == 0 || pairs[i+1] != "" && string(got) != pairs[i+1] {
				return noEffect("another %s", pairs[i])
			}
			found |= 1 << (i / 2)
		}
		return nil
	}); err != nil {
		return err
	}
	for i := 0; i < len(pairs); i += 2 {
		if found&(1<<(i/2)) == 0 {
			return noEffect("no %s", pairs[i])
		}
	}
	return nil
}

// shown is the decoder of shows.
func shown(pairs ...string) func([]byte) error {
	return func(b []byte) error { return shows(b, pairs...) }
}

// require returns err, or [ErrEffect] with a text unless an answer is right.
func require(err error, right bool, text string) error {
	if err == nil && !right {
		err = noEffect("%s", text)
	}
	return err
}

// holding is a decoder whose value must be right.
func holding[T any](
	read func([]byte) (T, error), text string, right func(T) bool,
) func([]byte) (T, error) {
	return func(b []byte) (T, error) {
		v, err := read(b)
		return v, require(err, err != nil || right(v), text)
	}
}

// done requires the answer {"status":"OK"}.
func done(b []byte) error {
	status := ""
	err := fields(b, "status", &status)
	if err == nil && status != "OK" {
		err = noEffect("status %q", status)
	}
	return err
}

// fields reads members of an object into variables, given as pairs of a key and a pointer.
// Variables keep their values where the object has no such member; a []byte is the member as it is
// written. Decoders of long lists have a switch of their own, which is faster.
func fields(b []byte, pairs ...any) error {
	return eachField(b, func(k, v []byte) (err error) {
		for i := 0; i < len(pairs); i += 2 {
			if string(k) != pairs[i].(string) {
				continue
			}
			switch to := pairs[i+1].(type) {
			case *string:
				*to = string(text(v))
			case *identifier:
				var id string
				id, err = idText(v)
				*to = identifier(id)
			case *ID:
				*to, err = idOf(text(v))
			case *int64:
				*to = number(v)
			case *quantity:
				*to = quantity(amount(v))
			case *[]byte:
				*to = v
			case *bool:
				*to = string(v) == "true"
			case *[]string:
				if v[0] == '[' {
					err = eachElement(v, func(v []byte) error {
						*to = append(*to, string(text(v)))
						return nil
					})
				}
			}
			return err
		}
		return nil
	})
}

// member reads the member of an object with a key, which the answer must have.
func member[T any](key, lack string, read func([]byte) (T, error)) func([]byte) (T, error) {
	return func(b []byte) (v T, err error) {
		var value []byte
		err = fields(b, key, &value)
		if err = require(err, value != nil, lack); err == nil {
			v, err = read(value)
		}
		return v, err
	}
}

// inside calls f for the member with a key, if that is an object.
func inside(b []byte, key string, f func(v []byte) error) error {
	return eachField(b, func(k, v []byte) error {
		if string(k) != key || v[0] != '{' {
			return nil
		}
		return f(v)
	})
}

// An identifier is a text that [fields] reads as one, and a quantity a number, see [amount].
type (
	identifier string
	quantity   int64
)

func idTo(id *string) *identifier { return (*identifier)(id) }

func amountTo(n *int64) *quantity { return (*quantity)(n) }

// listOf decodes an array; read decodes an element.
func listOf[T any](read func([]byte) (T, error)) func([]byte) ([]T, error) {
	return func(b []byte) (list []T, err error) {
		err = eachElement(b, func(b []byte) error {
			v, err := read(b)
			list = append(list, v)
			return err
		})
		return list, err
	}
}

// orNone reads an answer that may have null for an empty list.
func orNone[T any](read func([]byte) ([]T, error)) func([]byte) ([]T, error) {
	return func(b []byte) ([]T, error) {
		if isNull(b) {
			return nil, nil
		}
		return read(b)
	}
}

// eachIn is eachElement for answers that may have null for an empty list.
func eachIn(b []byte, f func(v []byte) error) error {
	if isNull(b) {
		return nil
	}
	return eachElement(b, f)
}

func isNull(b []byte) bool { return string(b) == "null" || string(b) == "null\n" }

// idIn decodes an identifier, the member of an object that shows the pairs. The object must have
// it.
func idIn(key string, pairs ...string) func([]byte) (string, error) {
	return func(b []byte) (id string, err error) {
		if err = shows(b, pairs...); err == nil {
			err = fields(b, key, idTo(&id))
		}
		return id, named(err, key, id != "")
	}
}

// textIn is idIn for any text.
func textIn(key string, pairs ...string) func([]byte) (string, error) {
	return func(b []byte) (s string, err error) {
		if err = shows(b, pairs...); err == nil {
			err = fields(b, key, &s)
		}
		return s, named(err, key, s != "")
	}
}

// countIn is idIn for a number.
func countIn(key string, pairs ...string) func([]byte) (int64, error) {
	return func(b []byte) (int64, error) {
		n := int64(-1)
		err := shows(b, pairs...)
		if err == nil {
			err = fields(b, key, amountTo(&n))
		}
		return n, named(err, key, n >= 0)
	}
}

// named returns err, or [ErrEffect] for a missing member.
func named(err error, key string, there bool) error {
	if err == nil && !there {
		err = noEffect("no %s", key)
	}
	return err
}

// The members with these keys of a list's objects.
var (
	idsIn     = listOf(idIn("id"))
	teamIDsIn = listOf(idIn("team_id"))
	userIDsIn = listOf(idIn("user_id"))
	namesIn   = listOf(textIn("name"))
)

// listed counts the elements of an array. Each must show the pairs.
func listed(pairs ...string) func([]byte) (int, error) {
	return func(b []byte) (n int, err error) {
		err = eachElement(b, func(v []byte) error {
			n++
			return shows(v, pairs...)
		})
		return n, err
	}
}

const notAsked = "one that was not asked for"

// among returns err, or requires each of the identifiers in an answer to be in a request.
func among(err error, got, asked []string) error {
	for _, id := range got {
		err = require(err, slices.Contains(asked, id), notAsked)
	}
	return err
}

// whole returns the value of a JSON integer; ok is false for anything else.
func whole(value []byte) (n int64, ok bool) {
	n, err := strconv.ParseInt(string(value), 10, 64)
	return n, err == nil
}

// amount returns the value of a JSON integer that is not negative, and -1 for anything else.
func amount(value []byte) int64 {
	if n, ok := whole(value); ok && n >= 0 {
		return n
	}
	return -1
}

// textsIn reads the strings of an object, and requires some of them.
func textsIn(keys ...string) func([]byte) (map[string]string, error) {
	return func(b []byte) (map[string]string, error) {
		into := map[string]string{}
		err := eachField(b, func(k, v []byte) error {
			if len(v) > 0 && v[0] == '"' {
				into[string(k)] = string(text(v))
			}
			return nil
		})
		for _, key := range keys {
			err = named(err, key, into[key] != "")
		}
		return into, err
	}
}
