package record

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"plimsoll/internal/built"
	"plimsoll/load/measure"
)

// windowsMagic opens a windows.hdr file: a name, and the version of the format.
const (
	windowsName    = "plimsoll windows "
	windowsVersion = 1
	windowsMagic   = windowsName + "1\n"
)

// checkMagic returns an error that wraps [ErrWindows] unless a text is windowsMagic.
func checkMagic(text []byte) error {
	if string(text) == windowsMagic {
		return nil
	}
	if err := built.NewerText(strings.TrimSpace(string(text)), windowsName, windowsVersion); err != nil {
		return fmt.Errorf("%w: %w", ErrWindows, err)
	}
	return fmt.Errorf("%w: it does not begin with %q", ErrWindows, windowsMagic)
}

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

// Write appends one frame: all windows of one second, counted from the run's epoch. Each call is
// one write to the underlying writer, so that a killed run ends between frames or inside the last
// one only.
func (ww *WindowWriter) Write(second int, windows []*measure.Window) error {
	b := binary.AppendUvarint(ww.buf[:0], uint64(second))
	b = binary.AppendUvarint(b, uint64(len(windows)))
	for _, w := range windows {
		b = w.AppendBinary(b)
	}
	ww.buf = b
	frame := binary.AppendUvarint(nil, uint64(len(b)))
	frame = append(frame, b...)
	frame = binary.BigEndian.AppendUint32(frame, crc32.ChecksumIEEE(b))
	_, err := ww.w.Write(frame)
	return err
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

// readWindows calls fn for each second of a windows.hdr stream in order, until fn returns false, in
// memory for the i-th window of each frame. truncated reports that the last frame was cut short, as
// a killed run leaves it; everything before it was passed on. Damage elsewhere is an error that
// wraps [ErrWindows].
func readWindows(
	r io.Reader,
	memory func(i int) *measure.Window,
	fn func(second int, windows []*measure.Window) bool,
) (truncated bool, err error) {
	br := bufio.NewReaderSize(r, 1<<16)
	head := make([]byte, len(windowsMagic))
	if n, err := io.ReadFull(br, head); err != nil {
		return true, ifNotEOF(err, n, windowsMagic[:n] == string(head[:n]))
	}
	if err := checkMagic(head); err != nil {
		return false, err
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
		// No second has so little; a power failure leaves zeros where a file grew and its content
		// was not on disk yet.
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

// headFrame reads the second of a frame's payload and how many windows follow, whose encodings it
// returns.
func headFrame(b []byte) (second, count int, windows []byte, err error) {
	s, k := binary.Uvarint(b)
	if k <= 0 {
		return 0, 0, b, errors.New("bad head")
	}
	b = b[k:]
	n, k := binary.Uvarint(b)
	if k <= 0 || s > 1<<31 || n > uint64(len(b)-k) {
		return 0, 0, b, errors.New("bad head")
	}
	return int(s), int(n), b[k:], nil
}

func decodeFrame(b []byte, memory func(i int) *measure.Window) (int, []*measure.Window, error) {
	second, count, b, err := headFrame(b)
	if err != nil {
		return 0, nil, err
	}
	windows := make([]*measure.Window, 0, count)
	for i := range count {
		w := memory(i)
		if b, err = w.Decode(b); err != nil {
			return 0, nil, err
		}
		windows = append(windows, w)
	}
	if len(b) != 0 {
		return 0, nil, fmt.Errorf("%d bytes left over", len(b))
	}
	return second, windows, nil
}

// MergeWindows merges a windows.hdr of one second into a registry, as [measure.Registry.Merge]
// does, without decoding it. Anything else, one that is cut short or brings more than
// [measure.MaxMerged] names included, is an error that wraps [ErrWindows]; then nothing was merged.
func MergeWindows(b []byte, into *measure.Registry) error {
	head := b[:min(len(b), len(windowsMagic))]
	if err := checkMagic(head); err != nil {
		return err
	}
	frame := b[len(head):]
	size, k := binary.Uvarint(frame)
	if k <= 0 || size > maxFrame || uint64(len(frame)-k) != size+4 {
		return fmt.Errorf("%w: it is not one frame, whole", ErrWindows)
	}
	payload, sum := frame[k:k+int(size)], frame[k+int(size):]
	if binary.BigEndian.Uint32(sum) != crc32.ChecksumIEEE(payload) {
		return fmt.Errorf("%w: checksum", ErrWindows)
	}
	_, n, windows, err := headFrame(payload)
	if err == nil {
		err = into.MergeBinary(windows, n)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrWindows, err)
	}
	return nil
}
