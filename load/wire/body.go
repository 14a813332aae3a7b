package wire

import (
	"bytes"
	"compress/gzip"
	"io"
	"math"
	"strconv"
	"sync"
)

type bodyMode uint8

const (
	bodyNone   bodyMode = iota
	bodyLength          // left bytes
	bodyChunk           // left bytes of a chunk, then a line end and another chunk
	bodyEOF             // until the server closes
)

// A body is the transfer-decoded body of a message. After its Read has returned io.EOF the message
// is over, trailers included, and the reader stands behind it.
type body struct {
	rd    *reader
	mode  bodyMode
	left  int64
	begun bool // bodyChunk: a chunk has been read, so a line end is due
	err   error
}

// framing returns the body that follows a head, for the given request method.
func (b *body) reset(rd *reader, f *framing, method string) {
	*b = body{rd: rd}
	switch {
	case method == "HEAD" || f.status == 204 || f.status == 304 || f.status < 200:
		b.mode = bodyNone
	case f.chunked:
		b.mode = bodyChunk
	case f.length >= 0:
		b.mode, b.left = bodyLength, f.length
	default:
		b.mode = bodyEOF
	}
}

// next makes sure that there is body to read, or returns io.EOF or an error.
func (b *body) next() error {
	if b.err != nil {
		return b.err
	}
	switch b.mode {
	case bodyNone:
		b.err = io.EOF
	case bodyLength:
		if b.left == 0 {
			b.err = io.EOF
		}
	case bodyChunk:
		if b.left == 0 {
			b.err = b.nextChunk()
		}
	default: // bodyEOF ends with the connection
	}
	return b.err
}

// Read implements io.Reader. Large reads go past the buffer.
func (b *body) Read(p []byte) (int, error) {
	if err := b.next(); err != nil {
		return 0, err
	}
	if len(p) == 0 {
		return 0, nil
	}
	rd := b.rd
	if b.mode != bodyEOF && int64(len(p)) > b.left {
		p = p[:b.left]
	}
	var n int
	if rd.r == rd.w && len(p) >= smallBuffer/2 {
		n, b.err = rd.direct(p)
	} else {
		if rd.r == rd.w {
			b.err = rd.fill()
		}
		n = copy(p, rd.buf.b[rd.r:rd.w])
		rd.r += n
	}
	return n, b.took(n)
}

// ReadByte implements io.ByteReader, so that package gzip puts no buffer of its own in between.
func (b *body) ReadByte() (byte, error) {
	if err := b.next(); err != nil {
		return 0, err
	}
	rd := b.rd
	if rd.r == rd.w {
		if b.err = rd.fill(); b.err != nil {
			return 0, b.took(0)
		}
	}
	c := rd.buf.b[rd.r]
	rd.r++
	b.left--
	return c, nil
}

// took accounts for n bytes read and makes an early end of the stream an error.
func (b *body) took(n int) error {
	b.left -= int64(n)
	if b.err == io.EOF && b.mode != bodyEOF {
		b.err = io.ErrUnexpectedEOF
	}
	if n > 0 {
		return nil
	}
	return b.err
}

// nextChunk reads the head of the next chunk, and the trailers after the last one.
func (b *body) nextChunk() error {
	if b.begun {
		line, err := b.line(2)
		if err != nil {
			return err
		}
		if len(line) != 0 {
			return ProtocolError("chunk is longer than its declared size")
		}
	}
	b.begun = true
	line, err := b.line(maxChunkLine)
	if err != nil {
		return err
	}
	size, ext, _ := bytes.Cut(line, []byte{';'})
	n, err := strconv.ParseUint(string(trim(size)), 16, 60)
	if err != nil || !isValue(ext) {
		return ProtocolError("malformed chunk size " + show(line))
	}
	b.left = int64(n)
	if b.left > 0 {
		return nil
	}
	for total := 0; ; {
		line, err := b.line(maxHeader)
		if err != nil {
			return err
		}
		if len(line) == 0 {
			return io.EOF
		}
		if total += len(line); total > maxHeader {
			return ErrHeaderSize
		}
		if bytes.IndexByte(line, ':') <= 0 || !isValue(line) {
			return ProtocolError("malformed trailer " + show(line))
		}
	}
}

// line returns the next line, which must end in CR LF and have at most limit bytes with them. The
// bytes are valid until the next read.
func (b *body) line(limit int) ([]byte, error) {
	rd := b.rd
	for scan := 0; ; {
		unread := rd.buf.b[rd.r:rd.w]
		if i := bytes.IndexByte(unread[scan:], '\n'); i >= 0 {
			i += scan
			if i+1 > limit || i == 0 || unread[i-1] != '\r' {
				return nil, ProtocolError("malformed line in a chunked body")
			}
			rd.r += i + 1
			return unread[:i-1], nil
		}
		if scan = len(unread); scan >= limit {
			return nil, ProtocolError("malformed line in a chunked body")
		}
		if err := rd.fill(); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
}

var gunzips = sync.Pool{New: func() any { return new(gzip.Reader) }}

// gunzipSize is the memory of a gzip.Reader: a window of 32 KiB, and tables.
const gunzipSize = 44 << 10

// gunzip returns a reader that decompresses src; the error is io.EOF if src is empty. The caller
// must always hand it to gunzipped.
func gunzip(src io.Reader, of *Budget) (*gzip.Reader, error) {
	if !of.take(gunzipSize) {
		return nil, ErrBudget
	}
	gz := gunzips.Get().(*gzip.Reader)
	return gz, gz.Reset(src)
}

func gunzipped(gz *gzip.Reader, of *Budget) {
	if gz != nil {
		gunzips.Put(gz)
		of.give(gunzipSize)
	}
}

// readAll reads src, a body, to its end. If keep is not nil the decoded bytes go there, growing it
// as they come. It returns the decoded length; more than limit decoded bytes are an error.
func readAll(src io.Reader, unzip bool, keep *buffer, limit int64, of *Budget) (int64, error) {
	if b, ok := src.(*body); ok && keep == nil && !unzip {
		return b.discard(limit)
	}
	if unzip {
		gz, err := gunzip(src, of)
		defer gunzipped(gz, of)
		if err == io.EOF { // servers declare even an empty body as gzip
			return 0, nil
		} else if err != nil {
			return 0, err
		}
		src = gz
	}
	scratch := keep
	if keep == nil {
		scratch = getBuffer(of)
		defer putBuffer(scratch)
	}
	var total int64
	for {
		at := 0
		if keep != nil {
			at = int(total)
			if at == len(keep.b) {
				// A byte more shows that it is too large.
				if err := keep.grow(at, at+1, int(min(limit, math.MaxInt-1)+1)); err != nil {
					return total, err
				}
			}
		}
		n, err := src.Read(scratch.b[at:])
		if total += int64(n); total > limit {
			return total, ErrBodySize
		}
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

// discard reads the whole body without looking at more than its framing. It returns the length;
// more than limit bytes are an error.
func (b *body) discard(limit int64) (total int64, err error) {
	for {
		if err := b.next(); err == io.EOF {
			return total, nil
		} else if err != nil {
			return total, err
		}
		most := int64(1 << 20)
		if b.mode != bodyEOF {
			most = b.left
		}
		var n int
		n, b.err = b.rd.skip(most)
		if total += int64(n); total > limit {
			return total, ErrBodySize
		}
		if err := b.took(n); err != nil && err != io.EOF {
			return total, err
		}
	}
}

func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
