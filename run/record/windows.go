package record

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"plimsoll/load/measure"
)

// windowsMagic opens a windows.hdr file.
const windowsMagic = "plimsoll windows 1\n"

// maxFrame bounds one frame of windows.hdr: a second with thousands of op names stays far below it.
const maxFrame = 64 << 20

// ErrWindows reports a windows.hdr that is not one, or is damaged before its end.
var ErrWindows = errors.New("bad windows file")

// A WindowWriter appends seconds to a windows.hdr stream. It is not safe for concurrent use.
type WindowWriter struct {
	w   io.Writer
	buf []byte
}

// NewWindowWriter writes the header and returns the writer.
func NewWindowWriter(w io.Writer) (*WindowWriter, error) {
	if _, err := io.WriteString(w, windowsMagic); err != nil {
		return nil, err
	}
	return &WindowWriter{w: w}, nil
}

// Write appends one frame: all windows of one second, counted from the run's epoch. Each call is one write to the
// underlying writer, so that a killed run ends between frames or inside the last one only.
func (ww *WindowWriter) Write(second int, windows []*measure.Window) error {
	b := binary.AppendUvarint(ww.buf[:0], uint64(second))
	b = binary.AppendUvarint(b, uint64(len(windows)))
	for _, w := range windows {
		b = binary.AppendUvarint(b, uint64(len(w.Name)))
		b = append(b, w.Name...)
		b = binary.AppendUvarint(b, measure.NumClasses)
		for _, c := range w.Classes {
			b = binary.AppendUvarint(b, c)
		}
		b = binary.AppendUvarint(b, uint64(w.Bytes))
		for _, h := range []*measure.Histogram{w.Response, w.Service, w.Wait, w.Lag} {
			var err error
			if b, err = h.AppendBinary(b); err != nil {
				return err
			}
		}
	}
	ww.buf = b
	frame := binary.AppendUvarint(nil, uint64(len(b)))
	frame = append(frame, b...)
	frame = binary.BigEndian.AppendUint32(frame, crc32.ChecksumIEEE(b))
	_, err := ww.w.Write(frame)
	return err
}

// ReadWindows calls fn for each second of a windows.hdr stream in order, until fn returns false. truncated
// reports that the last frame was cut short, as a killed run leaves it; everything before it was passed on.
// Damage elsewhere is an error that wraps [ErrWindows].
func ReadWindows(r io.Reader, fn func(second int, windows []*measure.Window) bool) (truncated bool, err error) {
	return readWindows(r, func(int) *measure.Window { return measure.NewWindow("") }, fn)
}

// recycled returns memory for the i-th window of a frame, the same for every frame.
func recycled() func(i int) *measure.Window {
	var all []*measure.Window
	return func(i int) *measure.Window {
		for len(all) <= i {
			all = append(all, measure.NewWindow(""))
		}
		return all[i]
	}
}

// readWindows is ReadWindows with memory for the i-th window of each frame.
func readWindows(r io.Reader, memory func(i int) *measure.Window, fn func(second int, windows []*measure.Window) bool) (truncated bool, err error) {
	br := bufio.NewReaderSize(r, 1<<16)
	head := make([]byte, len(windowsMagic))
	if n, err := io.ReadFull(br, head); err != nil {
		return true, ifNotEOF(err, n, windowsMagic[:n] == string(head[:n]))
	}
	if string(head) != windowsMagic {
		return false, fmt.Errorf("%w: it does not begin with %q", ErrWindows, windowsMagic)
	}
	var buf bytes.Buffer // grows with the data, not with a damaged length
	for frame := 0; ; frame++ {
		size, err := binary.ReadUvarint(br)
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return true, nil
		}
		if err != nil || size > maxFrame {
			return false, fmt.Errorf("%w: frame %d: bad length", ErrWindows, frame)
		}
		// No second has so little; a power failure leaves zeros where a file grew and its content was not on disk
		// yet.
		if size == 0 {
			if zeros, err := onlyZeros(br); zeros || err != nil {
				return true, err
			}
			return false, fmt.Errorf("%w: frame %d: it is empty", ErrWindows, frame)
		}
		buf.Reset()
		if _, err := io.CopyN(&buf, br, int64(size)+4); errors.Is(err, io.EOF) {
			return true, nil
		} else if err != nil {
			return false, fmt.Errorf("frame %d: %w", frame, err)
		}
		b := buf.Bytes()
		payload := b[:size]
		if binary.BigEndian.Uint32(b[size:]) != crc32.ChecksumIEEE(payload) {
			if _, err := br.Peek(1); errors.Is(err, io.EOF) {
				return true, nil // the last frame of a crashed machine
			}
			return false, fmt.Errorf("%w: frame %d: checksum", ErrWindows, frame)
		}
		second, windows, err := decodeFrame(payload, memory)
		if err != nil {
			return false, fmt.Errorf("%w: frame %d: %w", ErrWindows, frame, err)
		}
		if !fn(second, windows) {
			return false, nil
		}
	}
}

// onlyZeros reports whether nothing but zeros is left.
func onlyZeros(br *bufio.Reader) (bool, error) {
	for {
		switch c, err := br.ReadByte(); {
		case errors.Is(err, io.EOF):
			return true, nil
		case err != nil || c != 0:
			return false, err
		}
	}
}

func ifNotEOF(err error, n int, prefix bool) error {
	if (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) && prefix {
		return nil
	}
	return fmt.Errorf("%w: %d bytes are not a header", ErrWindows, n)
}

func decodeFrame(b []byte, memory func(i int) *measure.Window) (int, []*measure.Window, error) {
	var bad error
	next := func() uint64 {
		v, k := binary.Uvarint(b)
		if k <= 0 {
			if bad == nil {
				bad = io.ErrUnexpectedEOF
			}
			return 0
		}
		b = b[k:]
		return v
	}
	second, count := next(), next()
	if bad != nil || second > 1<<31 || count > uint64(len(b)) {
		return 0, nil, errors.Join(bad, errors.New("bad head"))
	}
	windows := make([]*measure.Window, 0, count)
	for i := range int(count) {
		w := memory(i)
		n := next()
		if bad != nil || n > uint64(len(b)) {
			return 0, nil, errors.New("bad name")
		}
		w.Name, w.Classes = string(b[:n]), [measure.NumClasses]uint64{}
		b = b[n:]
		classes := next()
		if bad != nil || classes > uint64(len(b)) {
			return 0, nil, errors.New("bad classes")
		}
		for i := range classes {
			c := next()
			if i < measure.NumClasses {
				w.Classes[i] = c
			} else if c != 0 {
				return 0, nil, fmt.Errorf("class %d is unknown here", i)
			}
		}
		w.Bytes = int64(next())
		if bad != nil {
			return 0, nil, bad
		}
		for _, h := range []*measure.Histogram{w.Response, w.Service, w.Wait, w.Lag} {
			var err error
			if b, err = h.Decode(b); err != nil {
				return 0, nil, fmt.Errorf("%s: %w", w.Name, err)
			}
		}
		windows = append(windows, w)
	}
	if len(b) != 0 {
		return 0, nil, fmt.Errorf("%d bytes left over", len(b))
	}
	return int(second), windows, bad
}
