package profile

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// The fields of message Profile of pprof's profile.proto, and of the messages in it. A value type
// has its type and its unit as fields 1 and 2.
const (
	fieldSampleType = 1
	fieldSample     = 2 // 1: locations, innermost first; 2: values
	fieldMapping    = 3 // 1: id; 5: file; 6: build ID; 7 to 9: has functions, files, lines
	fieldLocation   = 4 // 1: id; 2: mapping; 3: address; 4: line (1: function; 2: line)
	fieldFunction   = 5 // 1: id; 2: name; 3: name of the system; 4: file; 5: line of its start
	fieldString     = 6
	fieldDuration   = 10 // nanoseconds
	fieldPeriodType = 11
	fieldPeriod     = 12
	fieldComment    = 13
)

// A writer encodes a profile field by field: its memory is that of the longest message and of the
// strings, 1 MB for 100,000 stacks of 30 functions. The package of pprof needs 150 MB for them.
type writer struct {
	out     *bufio.Writer
	msg     []byte // the message under way
	head    []byte // of the message, when it is written
	strings numbering[string]
}

// Write writes s to w in the format of pprof, compressed by gzip. Equal profiles are written as
// equal bytes. It writes nothing if s is not a profile that [Read] accepts.
func Write(w io.Writer, s Stored) error {
	if err := s.check(); err != nil {
		return err
	}
	comments, err := s.comments()
	if err != nil {
		return err
	}
	mappings := map[string]uint64{}
	for i, b := range s.Binaries {
		if mappings[b.Name] != 0 || b.Name == "" {
			return fmt.Errorf("binary %d has no name of its own: %q", i, b.Name)
		}
		mappings[b.Name] = uint64(i + 1)
	}
	for _, f := range s.Functions {
		if f.Binary != "" && mappings[f.Binary] == 0 {
			return fmt.Errorf("function %q: no binary %q", f.Name, f.Binary)
		}
	}
	z := gzip.NewWriter(w)
	e := &writer{out: bufio.NewWriter(z)}
	e.text("")
	e.pair(fieldSampleType, "samples", "count")
	e.pair(fieldSampleType, "cpu", "nanoseconds")
	e.samples(&s)
	e.tables(&s, mappings)
	e.pair(fieldPeriodType, "cpu", "nanoseconds")
	e.top(fieldPeriod, uint64(s.Period))
	e.top(fieldDuration, uint64(min(s.Seconds*1e9, math.MaxInt64/2)))
	for _, c := range comments {
		e.top(fieldComment, e.text(c))
	}
	for _, t := range e.strings.all {
		e.msg = append(e.msg[:0], t...)
		e.flush(fieldString)
	}
	if err := e.out.Flush(); err != nil {
		return err
	}
	return z.Close()
}

func (e *writer) samples(s *Stored) {
	var packed []byte
	for _, st := range s.Stacks {
		packed = packed[:0]
		for _, f := range slices.Backward(st.Functions) {
			packed = protowire.AppendVarint(packed, uint64(f)+1)
		}
		e.bytes(1, packed)
		packed = protowire.AppendVarint(packed[:0], uint64(st.Samples))
		packed = protowire.AppendVarint(packed, uint64(st.Samples)*uint64(s.Period))
		e.bytes(2, packed)
		e.flush(fieldSample)
	}
}

// tables writes mappings, functions and a location for each function.
func (e *writer) tables(s *Stored, mappings map[string]uint64) {
	for i, b := range s.Binaries {
		e.number(1, uint64(i+1))
		e.number(5, e.text(b.Name))
		e.number(6, e.text(b.BuildID))
		for _, has := range [...]protowire.Number{7, 8, 9} {
			e.number(has, 1)
		}
		e.flush(fieldMapping)
	}
	for i, f := range s.Functions {
		id := uint64(i + 1)
		line := uint64(max(f.Line, 0))
		e.number(1, id)
		e.number(2, mappings[f.Binary])
		at := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), id)
		at = protowire.AppendVarint(protowire.AppendTag(at, 2, protowire.VarintType), line)
		e.bytes(4, at)
		e.flush(fieldLocation)
		e.number(1, id)
		e.number(2, e.text(f.Name))
		e.number(3, e.text(f.Name))
		e.number(4, e.text(f.File))
		e.number(5, line)
		e.flush(fieldFunction)
	}
}

// text returns the index of t in the table of strings.
func (e *writer) text(t string) uint64 { return uint64(e.strings.number(t)) }

// number adds a number to the message under way.
func (e *writer) number(field protowire.Number, v uint64) {
	e.msg = protowire.AppendVarint(protowire.AppendTag(e.msg, field, protowire.VarintType), v)
}

// bytes adds a message or packed numbers to the message under way.
func (e *writer) bytes(field protowire.Number, b []byte) {
	e.msg = protowire.AppendBytes(protowire.AppendTag(e.msg, field, protowire.BytesType), b)
}

// pair writes a value type.
func (e *writer) pair(field protowire.Number, kind, unit string) {
	e.number(1, e.text(kind))
	e.number(2, e.text(unit))
	e.flush(field)
}

// top writes a number of the profile.
func (e *writer) top(field protowire.Number, v uint64) {
	e.number(field, v)
	e.write(e.msg)
	e.msg = e.msg[:0]
}

// flush writes the message under way as a field of the profile, and begins the next.
func (e *writer) flush(field protowire.Number) {
	e.head = protowire.AppendTag(e.head[:0], field, protowire.BytesType)
	e.head = protowire.AppendVarint(e.head, uint64(len(e.msg)))
	e.write(e.head)
	e.write(e.msg)
	e.msg = e.msg[:0]
}

// write ignores errors: [bufio.Writer] keeps the first for Flush.
func (e *writer) write(b []byte) { _, _ = e.out.Write(b) }
