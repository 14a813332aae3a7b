package wire

import (
	"encoding/binary"
	"math/bits"
)

// An Opcode is the kind of a WebSocket frame or message.
type Opcode byte

// The opcodes of RFC 6455, 5.2. [WS.Read] returns only OpText and OpBinary.
const (
	opContinuation Opcode = 0
	OpText         Opcode = 1
	OpBinary       Opcode = 2
	opClose        Opcode = 8
	opPing         Opcode = 9
	opPong         Opcode = 10
)

func (op Opcode) control() bool { return op&8 != 0 }

const (
	maxControl    = 125 // payload of a control frame
	maxServerHead = 10  // head of an unmasked frame
)

// A frameHead is the head of a frame sent by a server.
type frameHead struct {
	op     Opcode
	fin    bool
	length int64
	size   int // of the head itself
}

// parseFrameHead reads the head at the beginning of b. With size == 0 and no error, it needs more
// bytes. Everything that a server must not send is an error, as soon as it can be seen.
func parseFrameHead(b []byte) (frameHead, error) {
	var h frameHead
	if len(b) < 2 {
		return h, nil
	}
	h.fin = b[0]&0x80 != 0
	h.op = Opcode(b[0] & 0x0f)
	if b[0]&0x70 != 0 {
		return h, ProtocolError("reserved bits are set, but no extension was agreed on")
	}
	switch h.op {
	case opContinuation, OpText, OpBinary, opClose, opPing, opPong:
	default:
		return h, ProtocolError("unknown opcode")
	}
	if b[1]&0x80 != 0 {
		return h, ProtocolError("the server masked a frame")
	}
	n := int64(b[1] & 0x7f)
	if h.op.control() && (n > maxControl || !h.fin) {
		return h, ProtocolError("control frame too long or fragmented")
	}
	size := 2
	switch n {
	case 126:
		if size = 4; len(b) < size {
			return h, nil
		}
		if n = int64(binary.BigEndian.Uint16(b[2:])); n < 126 {
			return h, ProtocolError("frame length is not in its shortest form")
		}
	case 127:
		if size = 10; len(b) < size {
			return h, nil
		}
		// negative: the highest bit is set
		if n = int64(binary.BigEndian.Uint64(b[2:])); n < 1<<16 {
			return h, ProtocolError("frame length is negative or not in its shortest form")
		}
	}
	h.length, h.size = n, size
	return h, nil
}

// appendFrame appends a final, masked frame.
func appendFrame(b []byte, op Opcode, key [4]byte, data []byte) []byte {
	b = append(b, 0x80|byte(op))
	switch n := len(data); {
	case n <= maxControl:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = append(b, 0x80|126)
		b = binary.BigEndian.AppendUint16(b, uint16(n))
	default:
		b = append(b, 0x80|127)
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	b = append(b, key[:]...)
	start := len(b)
	b = append(b, data...)
	mask(b[start:], key)
	return b
}

// mask applies or removes a mask, eight bytes at a time.
func mask(b []byte, key [4]byte) {
	k := uint64(binary.LittleEndian.Uint32(key[:]))
	k |= k << 32
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)^k)
		b = b[8:]
	}
	for i := range b {
		b[i] ^= byte(k)
		k = bits.RotateLeft64(k, -8)
	}
}
