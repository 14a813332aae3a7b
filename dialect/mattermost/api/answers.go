package api

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plimsoll/load/measure"
	"plimsoll/load/wire"
)

// shows requires an object to have members with these texts, given as pairs of key and text; the text "" stands for
// any but an empty one.
func shows(b []byte, pairs ...string) error {
	found := 0
	if err := eachField(b, func(k, v []byte) error {
		for i := 0; i < len(pairs); i += 2 {
			if string(k) != pairs[i] {
				continue
			}
			if got := text(v); len(got) == 0 || pairs[i+1] != "" && string(got) != pairs[i+1] {
				return fmt.Errorf("%w: another %s", ErrEffect, pairs[i])
			}
			found |= 1 << (i / 2)
		}
		return nil
	}); err != nil {
		return err
	}
	for i := 0; i < len(pairs); i += 2 {
		if found&(1<<(i/2)) == 0 {
			return fmt.Errorf("%w: no %s", ErrEffect, pairs[i])
		}
	}
	return nil
}

// shown is shows for an answer.
func shown(pairs ...string) func(*wire.Response) error {
	return func(resp *wire.Response) error { return shows(resp.Body, pairs...) }
}

// listed counts the elements of an array, each of which shows the pairs.
func listed(n *int, pairs ...string) func(*wire.Response) error {
	return func(resp *wire.Response) error {
		*n = 0
		return eachElement(resp.Body, func(v []byte) error {
			*n++
			return shows(v, pairs...)
		})
	}
}

// among requires each of the identifiers that an answer names to be one of those that were asked for.
func among(got, asked []string) error {
	for _, id := range got {
		if !slices.Contains(asked, id) {
			return fmt.Errorf("%w: one that was not asked for", ErrEffect)
		}
	}
	return nil
}

// idsOfProfiles returns the identifiers of profiles.
func idsOfProfiles(ps []Profile) []string {
	ids := make([]string, len(ps))
	for i := range ps {
		ids[i] = ps[i].ID
	}
	return ids
}

// whole returns the value of a JSON integer, and whether it is one.
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

// isPicture requires an answer to be no page. Its bytes are counted, and not read.
func isPicture(resp *wire.Response) error {
	if kind := resp.Header.Get("Content-Type"); strings.HasPrefix(kind, "text/html") {
		return fmt.Errorf("%w: %.40q is no picture", ErrEffect, kind)
	}
	return nil
}

// Declined reports whether the server itself said no to a request, which then has no effect. Servers and proxies that
// fail, and connections that break, may have carried it out.
func Declined(err error) bool {
	e, ok := errors.AsType[*OpError](err)
	return ok && e.Status/100 == 4
}

// Unnamed reports whether the server accepted a post by an answer that does not name it: it cannot be looked for
// later.
func Unnamed(err error) bool {
	e, ok := errors.AsType[*OpError](err)
	return ok && e.Class == measure.Decode && e.Status/100 == 2
}
