package profile

import (
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"plimsoll/watch/profile/symbols"
)

// A reader decodes a profile. Tables refer to each other in any order, so it passes over the whole
// several times.
type reader struct {
	s         Stored
	text      []string
	types     [][2]string       // types and units of values
	binaries  map[string]bool   // by name
	mappings  map[uint64]string // names of binaries
	functions map[uint64]int32
	locations map[uint64][]int32 // functions, innermost first
	lines     int
	frames    int
	column    int     // of the count of samples
	stack     []int32 // the one under way, innermost first
}

// Read decodes a profile in the format of pprof, as [Write] or a Go server writes it. A profile of
// hostile size is an error; Read takes at most 300 MB for any.
func Read(r io.Reader) (Stored, error) {
	s, err := read(r)
	if err != nil {
		return Stored{}, fmt.Errorf("profile: %w", err)
	}
	return s, nil
}

func read(r io.Reader) (Stored, error) {
	z, err := gzip.NewReader(io.LimitReader(r, maxFile))
	if err != nil {
		return Stored{}, err
	}
	data, err := io.ReadAll(io.LimitReader(z, maxProto+1))
	if err != nil {
		return Stored{}, err
	}
	if len(data) > maxProto {
		return Stored{}, fmt.Errorf("more than %d bytes: %w", maxProto, errLarge)
	}
	d := &reader{
		binaries:  map[string]bool{},
		mappings:  map[uint64]string{},
		functions: map[uint64]int32{},
		locations: map[uint64][]int32{},
		column:    -1,
	}
	for _, pass := range []func(int, uint64, []byte) error{
		d.addText, d.addFunction, d.addLocation, d.addSample,
	} {
		if err := fields(data, pass); err != nil {
			return Stored{}, err
		}
	}
	return d.s, d.s.check()
}

// fields calls each with the fields of a message: the number of a varint, or the bytes of others.
func fields(b []byte, each func(num int, v uint64, body []byte) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		var v uint64
		var body []byte
		switch typ {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			body, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if err := each(int(num), v, body); err != nil {
			return err
		}
	}
	return nil
}

// numbers calls each with the values of a repeated number: v alone, or those packed in body.
func numbers(v uint64, body []byte, each func(uint64) error) error {
	if body == nil {
		return each(v)
	}
	for len(body) > 0 {
		v, n := protowire.ConsumeVarint(body)
		if n < 0 {
			return protowire.ParseError(n)
		}
		body = body[n:]
		if err := each(v); err != nil {
			return err
		}
	}
	return nil
}

// record returns the numbers of a message by field; a field that is missing is 0.
func record(body []byte) (values [16]uint64, err error) {
	err = fields(body, func(num int, v uint64, _ []byte) error {
		if num < len(values) {
			values[num] = v
		}
		return nil
	})
	return values, err
}

// at returns a string of the table.
func (d *reader) at(i uint64) (string, error) {
	if i >= uint64(len(d.text)) {
		return "", fmt.Errorf("no string %d", i)
	}
	return d.text[i], nil
}

// two returns two strings of the table.
func (d *reader) two(i, j uint64) (pair [2]string, err error) {
	if pair[0], err = d.at(i); err == nil {
		pair[1], err = d.at(j)
	}
	return pair, err
}

// addText is the pass that reads strings and plain numbers.
func (d *reader) addText(num int, v uint64, body []byte) error {
	switch num {
	case fieldString:
		if len(d.text) >= maxStrings || len(body) > maxText {
			return fmt.Errorf(
				"string %d of %d bytes: %w; at most %d of %d",
				len(d.text),
				len(body),
				errLarge,
				maxStrings,
				maxText,
			)
		}
		d.text = append(d.text, string(body))
	case fieldPeriod:
		d.s.Period = time.Duration(v)
	case fieldDuration:
		d.s.Seconds = float64(min(v, math.MaxInt64)) / 1e9
	}
	return nil
}

// addFunction is the pass that reads types of values, mappings and functions.
func (d *reader) addFunction(num int, _ uint64, body []byte) error {
	if num != fieldSampleType && num != fieldMapping && num != fieldFunction &&
		num != fieldPeriodType {
		return nil
	}
	if max(len(d.s.Functions), len(d.mappings), len(d.types)) >= maxEntries {
		return fmt.Errorf("functions or mappings: %w; at most %d", errLarge, maxEntries)
	}
	v, err := record(body)
	if err != nil {
		return err
	}
	switch num {
	case fieldSampleType, fieldPeriodType:
		pair, err := d.two(v[1], v[2])
		if err != nil {
			return err
		}
		if num == fieldPeriodType {
			if pair[1] != "nanoseconds" {
				return fmt.Errorf("a period in %s; want nanoseconds", pair[1])
			}
			return nil
		}
		if pair == [2]string{"samples", "count"} {
			d.column = len(d.types)
		}
		d.types = append(d.types, pair)
	case fieldMapping:
		pair, err := d.two(v[5], v[6])
		if err != nil {
			return err
		}
		name := path.Base(pair[0])
		if pair[0] == "" {
			return nil
		}
		d.mappings[v[1]] = name
		if !d.binaries[name] {
			d.binaries[name] = true
			d.s.Binaries = append(d.s.Binaries, Binary{Name: name, BuildID: pair[1]})
		}
	case fieldFunction:
		pair, err := d.two(v[2], v[4])
		if err != nil {
			return err
		}
		d.functions[v[1]] = int32(len(d.s.Functions))
		d.s.Functions = append(d.s.Functions, Symbol{
			Name: pair[0],
			File: pair[1],
			Line: int(min(v[5], math.MaxInt32)),
		})
	}
	return nil
}

// addLocation is the pass that reads locations and comments.
func (d *reader) addLocation(num int, v uint64, body []byte) error {
	switch num {
	case fieldComment:
		return numbers(v, body, func(i uint64) error {
			text, err := d.at(i)
			if err != nil {
				return err
			}
			return d.s.comment(text)
		})
	case fieldLocation:
	default:
		return nil
	}
	location, err := record(body)
	if err != nil {
		return err
	}
	binary := d.mappings[location[2]]
	var calls []int32
	err = fields(body, func(num int, _ uint64, line []byte) error {
		if num != 4 {
			return nil
		}
		v, err := record(line)
		if err != nil {
			return err
		}
		f, ok := d.functions[v[1]]
		if !ok {
			return fmt.Errorf("no function %d", v[1])
		}
		if d.lines++; d.lines > maxEntries {
			return fmt.Errorf("lines: %w; at most %d", errLarge, maxEntries)
		}
		d.s.Functions[f].Binary = binary
		calls = append(calls, f)
		return nil
	})
	if err != nil {
		return err
	}
	if len(calls) == 0 {
		calls = []int32{d.unknown()}
	}
	d.locations[location[1]] = calls
	return nil
}

// unknown returns the function that stands for addresses without a symbol.
func (d *reader) unknown() int32 {
	last := len(d.s.Functions) - 1
	f := Symbol{Name: "[unknown]", Kind: symbols.Unknown}
	if last < 0 || d.s.Functions[last] != f {
		last++
		d.s.Functions = append(d.s.Functions, f)
	}
	return int32(last)
}

// addSample is the pass that reads samples.
func (d *reader) addSample(num int, _ uint64, body []byte) error {
	if num != fieldSample {
		return nil
	}
	if d.column < 0 {
		return fmt.Errorf("types of values %q; want samples in count", d.types)
	}
	if len(d.s.Stacks) >= maxStacks {
		return fmt.Errorf("stacks: %w; at most %d", errLarge, maxStacks)
	}
	var st SampledStack
	var column int
	d.stack = d.stack[:0]
	err := fields(body, func(num int, v uint64, packed []byte) error {
		return numbers(v, packed, func(v uint64) error {
			switch num {
			case 1:
				calls, ok := d.locations[v]
				d.stack = append(d.stack, calls...)
				switch {
				case !ok:
					return fmt.Errorf("no location %d", v)
				case len(d.stack) > maxDepth:
					return fmt.Errorf("stack %d: %w", len(d.s.Stacks), errLarge)
				}
			case 2:
				if column == d.column {
					st.Samples = int64(v)
				}
				column++
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	if d.frames += len(d.stack); d.frames > maxFrames {
		return fmt.Errorf("stacks: %w; at most %d functions", errLarge, maxFrames)
	}
	slices.Reverse(d.stack)
	st.Functions = slices.Clone(d.stack)
	d.s.Stacks = append(d.s.Stacks, st)
	return nil
}
