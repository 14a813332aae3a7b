package wire

import (
	"bytes"
	"io"
	"net"
	"strconv"
	"time"
)

// A Response is the outcome of one [Client.Do]. It belongs to the client and is overwritten by the
// next Do.
type Response struct {
	Status    int       // 0 if no status line was read
	Header    Header    // valid until the next Do or Release
	Body      []byte    // decoded; nil as Request.SkipBody says; valid until the next Do or Release
	BodyBytes int64     // decoded length of the body, kept or not
	Due       time.Time // when Do was called; until Sent it had no connection
	Sent      time.Time // see "Clocks" in the package comment
	FirstByte time.Time // arrival of the first bytes of the final response; zero if none came
	Done      time.Time // arrival of the last byte; with an error, the moment it was known
	Read      time.Time // when the last byte was handed to this process; never before Done
	Kernel    bool      // Done is the kernel's stamp
	Dialed    bool      // a new connection had to be made
	Retried   bool      // the request was repeated on a new connection
}

// A Header is the header of a response, as it came.
type Header struct{ raw []byte }

// Get returns the first value of the header line of that name, ignoring case, or "". It allocates
// the string.
func (h Header) Get(name string) string {
	for k, v := range h.lines {
		if bytes.EqualFold(k, []byte(name)) {
			return string(v)
		}
	}
	return ""
}

// Values returns the values of all header lines of that name, ignoring case; nil if there is none.
func (h Header) Values(name string) (all []string) {
	for k, v := range h.lines {
		if bytes.EqualFold(k, []byte(name)) {
			all = append(all, string(v))
		}
	}
	return all
}

// All yields the name and the value of each header line, in their order.
func (h Header) All(yield func(name, value string) bool) {
	for k, v := range h.lines {
		if !yield(string(k), string(v)) {
			return
		}
	}
}

// lines is All without copies.
func (h Header) lines(yield func(name, value []byte) bool) {
	raw := h.raw
	for len(raw) > 0 {
		var line []byte
		line, raw = cutLine(raw)
		if k, v, ok := bytes.Cut(line, colon); ok && !yield(k, trim(v)) {
			return
		}
	}
}

// Clone returns a copy that stays valid.
func (h Header) Clone() Header { return Header{bytes.Clone(h.raw)} }

var colon = []byte{':'}

const (
	maxHeader        = 64 << 10 // status line and header, and again all trailers of a body
	maxInformational = 16       // 1xx responses before the final one
	maxChunkLine     = 4 << 10
)

// A reader is a byte source with a pooled buffer. Bytes before base are in use by a Header and stay
// where they are. There is no buffer (nil) before the first byte, and, if src is a plain socket,
// none while it waits for that byte.
type reader struct {
	src  io.Reader
	of   *Budget // of the buffer; nil for the process's
	sock *sock   // below src; nil if src is something else, as in tests
	buf  *buffer
	base int
	r, w int // unread bytes are buf.b[r:w]
	last moment
}

// open starts reading from conn.
func (rd *reader) open(conn net.Conn) {
	rd.release()
	rd.src, rd.sock = conn, sockOf(conn)
}

// empty lets go of the buffer.
func (rd *reader) empty() {
	putBuffer(rd.buf)
	rd.buf = nil
	rd.base = 0
	rd.r = 0
	rd.w = 0
}

// release lets go of everything.
func (rd *reader) release() {
	putBuffer(rd.buf)
	*rd = reader{of: rd.of}
}

// plain returns the socket if it is the source itself, and one that is read with system calls of
// its own; nil otherwise.
func (rd *reader) plain() *sock {
	if s := rd.sock; s != nil && s.raw != nil && io.Reader(s) == rd.src {
		return s
	}
	return nil
}

// exchange is sock.exchange.
func (rd *reader) exchange(b []byte) (written int, werr, rerr error) {
	written, werr, rerr = rd.sock.exchange(b, rd)
	rd.last = momentOf(rd.sock)
	return written, werr, rerr
}

// direct reads past the empty buffer.
func (rd *reader) direct(p []byte) (int, error) {
	n, err := readSome(rd.src, p)
	rd.last = momentOf(rd.sock)
	return n, err
}

// skip throws away up to n bytes, at least one, without copying them if the kernel can do that.
func (rd *reader) skip(n int64) (int, error) {
	if rd.r == rd.w {
		if s := rd.plain(); s != nil {
			m, err := s.discard(int(min(n, 1<<30)))
			rd.last = momentOf(rd.sock)
			return m, err
		}
		if err := rd.fill(); err != nil {
			return 0, err
		}
	}
	m := int(min(n, int64(rd.w-rd.r)))
	rd.r += m
	return m, nil
}

// fill reads at least one more byte behind the unread ones.
func (rd *reader) fill() error {
	if rd.buf == nil {
		if s := rd.plain(); s != nil {
			err := s.fill(rd)
			rd.last = momentOf(rd.sock)
			return err
		}
		rd.buf = getBuffer(rd.of)
	}
	if rd.r == rd.w {
		rd.r, rd.w = rd.base, rd.base
	}
	if rd.w == len(rd.buf.b) {
		if rd.r > rd.base {
			rd.w = rd.base + copy(rd.buf.b[rd.base:], rd.buf.b[rd.r:rd.w])
			rd.r = rd.base
		} else {
			if err := rd.buf.grow(rd.w, rd.w+1, 2*rd.w); err != nil {
				return err
			}
		}
	}
	n, err := rd.direct(rd.buf.b[rd.w:])
	rd.w += n
	return err
}

// fillTo is fill for n unread bytes that do not fit into the buffer. It grows by doubling, not to n
// at once: an announced length need not be sent.
func (rd *reader) fillTo(n int) error {
	if rd.w-rd.r == len(rd.buf.b)-rd.base {
		size := rd.base + min(n, 2*(rd.w-rd.r))
		if err := rd.buf.grow(rd.w, size, size); err != nil {
			return err
		}
	}
	return rd.fill()
}

// readSome reads at least one byte or returns an error.
func readSome(src io.Reader, p []byte) (int, error) {
	for range 100 {
		n, err := src.Read(p)
		if n > 0 {
			return n, nil
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, io.ErrNoProgress
}

// head returns the next status line and header, with the empty line that ends them, and moves
// behind it. The bytes stay valid until the reader is reset: base moves, too.
func (rd *reader) head() ([]byte, error) {
	if rd.r == rd.w {
		if err := rd.fill(); err != nil {
			return nil, err
		}
	}
	for scan := 0; ; { // counted from r: fill may move everything
		unread := rd.buf.b[rd.r:rd.w]
		if len(unread) > maxHeader {
			unread = unread[:maxHeader]
		}
		for {
			i := bytes.IndexByte(unread[scan:], '\n')
			if i < 0 {
				scan = len(unread)
				break
			}
			i += scan
			rest := unread[i+1:]
			end := 0
			switch {
			case len(rest) > 0 && rest[0] == '\n':
				end = i + 2
			case len(rest) > 1 && rest[0] == '\r' && rest[1] == '\n':
				end = i + 3
			case len(rest) == 0, len(rest) == 1 && rest[0] == '\r':
				scan = i // check this line end again when there is more
			default:
				scan = i + 1
				continue
			}
			if end > 0 {
				rd.r += end
				rd.base = rd.r
				return unread[:end], nil
			}
			break
		}
		if len(unread) == maxHeader {
			return nil, ErrHeaderSize
		}
		if err := rd.fill(); err != nil {
			if err == io.EOF && rd.r < rd.w {
				err = io.ErrUnexpectedEOF
				if bytes.HasPrefix(rd.buf.b[rd.r:rd.w], tlsAlert) {
					err = ErrTLSPort
				}
			}
			return nil, err
		}
	}
}

// tlsAlert is the beginning of the record by which a TLS server refuses other bytes: an alert of
// version 3.
var tlsAlert = []byte{21, 3}

// A framing is the header's description of the body that follows.
type framing struct {
	status    int
	length    int64 // -1 if not given
	chunked   bool
	gzip      bool
	keepAlive bool
	header    Header
}

// parseHead reads a whole head, as reader.head returns it.
func parseHead(head []byte) (framing, error) {
	f := framing{length: -1}
	line, rest := cutLine(head)
	minor, err := parseStatus(line, &f)
	if err != nil {
		return f, err
	}
	f.keepAlive = minor == 1
	f.header.raw = rest
	encodings, transfers := 0, 0
	for {
		line, rest = cutLine(rest)
		if len(line) == 0 {
			break
		}
		i := bytes.IndexByte(line, ':')
		if i <= 0 || !isToken(line[:i]) {
			return f, ProtocolError("malformed header line " + show(line))
		}
		name, value := line[:i], trim(line[i+1:])
		if !isValue(value) {
			return f, ProtocolError("control character in the value of header " + show(name))
		}
		switch len(name) {
		case len("connection"):
			if equalFold(name, "connection") {
				if hasToken(value, "close") {
					f.keepAlive = false
					minor = 1 // close wins over a later keep-alive
				} else if minor == 0 && hasToken(value, "keep-alive") {
					f.keepAlive = true
				}
			}
		case len("content-length"):
			if equalFold(name, "content-length") {
				n, err := strconv.ParseUint(string(value), 10, 63)
				if err != nil || f.length >= 0 && f.length != int64(n) {
					return f, ProtocolError("bad or conflicting Content-Length " + show(value))
				}
				f.length = int64(n)
			}
		case len("content-encoding"):
			if equalFold(name, "content-encoding") {
				encodings++
				f.gzip = encodings == 1 && (equalFold(value, "gzip") || equalFold(value, "x-gzip"))
			}
		case len("transfer-encoding"):
			if equalFold(name, "transfer-encoding") {
				if transfers++; transfers > 1 || !equalFold(value, "chunked") {
					return f, ProtocolError("unsupported Transfer-Encoding " + show(value))
				}
				f.chunked = true
			}
		}
	}
	if f.chunked {
		if head[7] == '0' {
			return f, ProtocolError("Transfer-Encoding in an HTTP/1.0 response")
		}
		if f.length >= 0 { // a proxy in between may disagree with us about where this message ends
			f.length, f.keepAlive = -1, false
		}
	}
	return f, nil
}

// parseStatus reads "HTTP/1.x NNN[ reason]" and returns x.
func parseStatus(line []byte, f *framing) (minor int, err error) {
	bad := len(line) < 12 || string(line[:7]) != "HTTP/1." || line[7] != '0' && line[7] != '1' ||
		line[8] != ' ' ||
		len(line) > 12 && line[12] != ' ' || !isValue(line[12:])
	if !bad {
		n, err := strconv.ParseUint(string(line[9:12]), 10, 16)
		f.status, bad = int(n), err != nil || n < 100
	}
	if bad {
		return 0, ProtocolError("malformed status line " + show(line))
	}
	return int(line[7] - '0'), nil
}

// cutLine splits off the first line, without its line end.
func cutLine(b []byte) (line, rest []byte) {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		return b, nil
	}
	line, rest = b[:i], b[i+1:]
	if i > 0 && line[i-1] == '\r' {
		line = line[:i-1]
	}
	return line, rest
}

// trim removes spaces and tabs at both ends.
func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

// show quotes the beginning of something a server sent. The mark of the omitted part stands inside
// the quotes, where redaction finds a secret that was cut in two.
func show(b []byte) string {
	const most = 60
	if len(b) > most {
		q := show(b[:most])
		return q[:len(q)-1] + `…"`
	}
	return strconv.QuoteToASCII(string(b))
}
