package wire

import (
	"bytes"
	crand "crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"time"
)

// A HandshakeError is the answer of a server that did not switch to WebSocket.
type HandshakeError struct {
	Status int    // 0 if the fault lies elsewhere than in the status
	Reason string // readable description of the error
	Body   []byte // the beginning of the answer's body
}

// Error describes the answer without its body.
func (e *HandshakeError) Error() string { return "WebSocket handshake: " + e.Reason }

func (w *WS) handshake(req *Request, o *origin) error {
	var nonce [16]byte
	crand.Read(nonce[:]) // never fails
	key := base64.StdEncoding.EncodeToString(nonce[:])
	// No Accept-Encoding: a refusal is read unchanged.
	head := []byte(
		"GET " + req.Path + " HTTP/1.1\r\nHost: " + o.host + "\r\nUpgrade: websocket\r\n" +
			"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + key + "\r\n",
	)
	head = appendFields(head, req.Header)
	if req.Token != "" {
		head = appendField(head, "Authorization: Bearer ", req.Token)
	}
	if _, err := w.conn.Write(append(head, "\r\n"...)); err != nil {
		return err
	}
	w.rd.open(w.conn)
	answer, err := w.rd.head()
	if err != nil {
		return noEOF(err)
	}
	f, err := parseHead(answer)
	if err != nil {
		return err
	}
	h := f.header
	switch {
	case f.status != 101:
		return &HandshakeError{
			f.status,
			fmt.Sprintf("the server answered %d", f.status),
			w.refusal(&f),
		}
	case !hasToken([]byte(h.Get("Upgrade")), "websocket"),
		!hasToken([]byte(h.Get("Connection")), "upgrade"):
		return &HandshakeError{0, "the answer lacks Upgrade: websocket or Connection: Upgrade", nil}
	case h.Get("Sec-WebSocket-Accept") != acceptKey(key):
		return &HandshakeError{0, "wrong Sec-WebSocket-Accept", nil}
	case h.Get("Sec-WebSocket-Extensions") != "",
		h.Get("Sec-WebSocket-Protocol") != "" && !req.has("sec-websocket-protocol", ""):
		return &HandshakeError{
			0,
			"the server chose an extension or protocol that was not offered",
			nil,
		}
	}
	w.rd.base = 0
	w.at, _ = w.rd.last.arrival(time.Time{})
	return nil
}

// refusal reads at most a few hundred bytes of the body of a refusing answer.
func (w *WS) refusal(f *framing) []byte {
	var b body
	b.reset(&w.rd, f, "GET")
	got := make([]byte, 512)
	n := 0
	for n < len(got) {
		m, err := b.Read(got[n:])
		n += m
		if err != nil {
			break
		}
	}
	return got[:n]
}

// acceptKey is the proof that the server speaks WebSocket (RFC 6455, 4.2.2).
func acceptKey(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// hasToken reports whether a comma-separated list has an element, which must be in lower case.
func hasToken(list []byte, element string) bool {
	for len(list) > 0 {
		var item []byte
		item, list, _ = bytes.Cut(list, []byte{','})
		if equalFold(trim(item), element) {
			return true
		}
	}
	return false
}
