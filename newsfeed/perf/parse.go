package perf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"plimsoll/newsfeed/server"
)

// longest is the longest latency that is accepted.
const longest = 24 * time.Hour

var (
	errGarbled = errors.New("no telemetry record")
	wordRE     = regexp.MustCompile(`^[a-z]{1,32}$`)
)

// Parse reads a record: JSON as the service writes it, or a line of the eight fields of the studied
// service's 2016 release, whose month counts from 0, whose time zone is zone and whose requests all
// had status 200. A line names neither server nor number. Every mistake is an error: nothing is
// guessed.
func Parse(raw []byte, zone *time.Location) (server.Record, error) {
	r, err := server.Record{}, errGarbled
	if bytes.HasPrefix(raw, []byte("{")) {
		if json.Unmarshal(raw, &r) == nil {
			err = nil
		}
		if err == nil && (r.Server == "" || len(r.Server) > 64 || r.Number < 1) {
			err = fmt.Errorf("%w: it does not say whose it is", errGarbled)
		}
	} else {
		r, err = line(string(raw), zone)
	}
	switch {
	case err != nil:
		return server.Record{}, err
	case r.At.Year() < 2000 || r.At.Year() > 9998:
		return r, fmt.Errorf("%w: its year is %d", errGarbled, r.At.Year())
	case !wordRE.MatchString(r.Entity) || !wordRE.MatchString(r.Operation):
		return r, fmt.Errorf(
			"%w: entity %.40q and operation %.40q are not words",
			errGarbled,
			r.Entity,
			r.Operation,
		)
	case r.Status < 100 || r.Status > 599:
		return r, fmt.Errorf("%w: its status is %d", errGarbled, r.Status)
	case r.Micros < 0 || r.Micros > longest.Microseconds():
		return r, fmt.Errorf("%w: it took %d µs", errGarbled, r.Micros)
	}
	return r, nil
}

// line reads year|month|day|hour|minute|entity|operation|milliseconds.
func line(text string, zone *time.Location) (r server.Record, err error) {
	fields := strings.Split(text, "|")
	if len(fields) != 8 {
		return r, fmt.Errorf("%w: %d fields, want 8", errGarbled, len(fields))
	}
	var n [6]int
	for i, f := range append(fields[:5:5], fields[7]) {
		if n[i], err = strconv.Atoi(f); err != nil {
			return r, fmt.Errorf("%w: a field is not a number", errGarbled)
		}
	}
	at := time.Date(n[0], time.Month(n[1]+1), n[2], n[3], n[4], 0, 0, zone)
	if at.Year() != n[0] || int(at.Month()) != n[1]+1 || at.Day() != n[2] || at.Hour() != n[3] ||
		at.Minute() != n[4] {
		return r, fmt.Errorf("%w: there is no such minute", errGarbled)
	}
	if n[5] > int(longest.Milliseconds()) {
		return r, fmt.Errorf("%w: it took %d ms", errGarbled, n[5])
	}
	return server.Record{
		At:        at.UTC(),
		Entity:    fields[5],
		Operation: fields[6],
		Status:    200,
		Micros:    int64(n[5]) * 1000,
	}, nil
}
