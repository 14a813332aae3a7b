package fleet

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/record"
)

// mostLine is the longest line of a reply, and mostPacks the largest size of its packs together, in
// bytes. mostObjects is the largest number of objects and lists in a line, and mostCommas of values
// and texts in them: each takes much more memory than its text.
const (
	mostLine    = 64 << 20
	mostPacks   = 64 << 20
	mostObjects = 1 << 20
	mostCommas  = 4 << 20
)

// packs are the windows of a report, each a windows.hdr of one second or empty. In a reply their
// sizes are in the line, and their bytes behind it: a report is mostly windows, and they are merged
// as they come.
type packs struct {
	// Sizes are the sizes of the packs in their order, in bytes; they are set when a reply is
	// written.
	Sizes [3]int `json:"packs,omitzero"`
	// Windows are all windows but those below.
	Windows pack `json:"-"`
	// Deliveries are the series of deliveries within a host, from which the coordinator reads their
	// median. Between are the series of deliveries between hosts, which it may have to leave out.
	Deliveries pack `json:"-"`
	Between    pack `json:"-"`
}

// each are the packs in their order behind the line.
func (p *packs) each() [3]*pack { return [...]*pack{&p.Windows, &p.Deliveries, &p.Between} }

// pack is windows in their encoding.
type pack []byte

// packWindows parts and encodes the windows of a report.
func packWindows(ws []*measure.Window) (p packs, err error) {
	var parts [3][]*measure.Window
	for _, w := range ws {
		k := 0
		switch deliveries(w.Name) {
		case workload.Delivery:
			k = 1
		case workload.Between:
			k = 2
		}
		parts[k] = append(parts[k], w)
	}
	for k, to := range p.each() {
		if len(parts[k]) == 0 {
			continue
		}
		var b bytes.Buffer
		w, err := record.NewWindowWriter(&b)
		if err == nil {
			err = w.Write(0, parts[k])
		}
		if err != nil {
			return p, err
		}
		*to = b.Bytes()
	}
	return p, nil
}

// merge adds the windows to what the registry's next Cut returns; after an error none of them.
func (p pack) merge(into *measure.Registry) error {
	if len(p) == 0 {
		return nil
	}
	return record.MergeWindows(p, into)
}

// A replyWriter writes replies: a line of JSON and the packs of its reports, in one write. It is
// not safe for concurrent use.
type replyWriter struct {
	to  io.Writer
	buf bytes.Buffer
}

func (w *replyWriter) write(p reply) error {
	w.buf.Reset()
	for _, r := range p.reports() {
		for i, b := range r.each() {
			r.Sizes[i] = len(*b)
		}
	}
	// The line has no line feed but its last byte.
	if err := json.NewEncoder(&w.buf).Encode(p); err != nil {
		return err
	}
	for _, r := range p.reports() {
		for _, b := range r.each() {
			w.buf.Write(*b)
		}
	}
	_, err := w.to.Write(w.buf.Bytes())
	return err
}

// A replyReader reads replies. It is not safe for concurrent use.
type replyReader struct {
	from *bufio.Reader
	line []byte
}

func newReplyReader(r io.Reader) *replyReader {
	return &replyReader{from: bufio.NewReaderSize(r, 1<<14)}
}

func (r *replyReader) read(p *reply) error {
	line, err := r.readLine()
	if err != nil {
		return err
	}
	if n := bytes.Count(line, []byte("{")) + bytes.Count(line, []byte("[")); n > mostObjects {
		return fmt.Errorf("a reply of %d objects and lists; want at most %d", n, mostObjects)
	}
	if n := bytes.Count(line, []byte(",")); n > mostCommas {
		return fmt.Errorf("a reply of %d values; want at most %d", n, mostCommas)
	}
	if err := json.Unmarshal(line, p); err != nil {
		return err
	}
	size := 0
	for _, report := range p.reports() {
		report.Errors = report.Errors[:min(len(report.Errors), 2*mostErrors)]
		for _, n := range report.Sizes {
			if n < 0 || n > mostPacks-size {
				return fmt.Errorf(
					"a reply with windows of more than %d bytes, or fewer than none",
					mostPacks,
				)
			}
			size += n
		}
	}
	for _, report := range p.reports() {
		for i, b := range report.each() {
			if report.Sizes[i] == 0 {
				continue
			}
			*b = make(pack, report.Sizes[i])
			if _, err := io.ReadFull(r.from, *b); err != nil {
				return err
			}
		}
	}
	return nil
}

// readLine returns the next line, which is valid until the next call.
func (r *replyReader) readLine() ([]byte, error) {
	r.line = r.line[:0]
	for {
		part, err := r.from.ReadSlice('\n')
		switch {
		case err == nil && len(r.line) == 0:
			return part, nil
		case len(r.line)+len(part) > mostLine:
			return nil, fmt.Errorf("a reply of more than %d bytes", mostLine)
		case err == nil:
			return append(r.line, part...), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			if len(r.line)+len(part) > 0 && errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		r.line = append(r.line, part...)
	}
}

// reports returns the reports of a reply.
func (p *reply) reports() (out []*report) {
	if p.Report != nil {
		out = append(out, p.Report)
	}
	for _, x := range p.Parts {
		if x.Report != nil {
			out = append(out, x.Report)
		}
	}
	return out
}
