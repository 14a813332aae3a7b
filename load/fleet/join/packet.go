package join

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/nats-io/nkeys"
	"golang.org/x/crypto/nacl/box"
)

// Sizes of messages, in bytes.
const (
	// pieceSize is the most data in one message on the wire; servers take 1 MiB unless told otherwise.
	pieceSize = 64 << 10
	// mostWhole is the most that one write carries.
	mostWhole = 64 << 20
	// mostPayload is the largest message that a server of ours takes.
	mostPayload = 128 << 10
)

// sealed begins each message, as nkeys writes it.
const sealed = "xkv1"

// A kind tells what a message is for.
type kind byte

const (
	hello   kind = 1 + iota // of a coordinator to an agent; begins a session
	welcome                 // the answer
	data                    // a piece
	ack                     // an acknowledgment alone
	ping                    // a sign of life, which has the number of pieces sent
)

// Directions of a message.
const (
	down byte = 'd' // to the agent
	up   byte = 'u'
)

type sessionID [16]byte

// A packet is a message before it is sealed.
type packet struct {
	session   sessionID
	direction byte
	kind      kind
	number    uint64 // grows with each packet of a sender
	acked     uint64 // pieces that the sender has received
	piece     uint64 // of data: its number from 0; of ping: how many were sent
	last      bool   // of data: the write ends with this piece
	gap       bool   // the sender misses the piece acked
	body      []byte
}

const headSize = 16 + 1 + 1 + 8 + 8 + 8 + 1

func (p packet) bytes() []byte {
	b := make([]byte, 0, headSize+len(p.body))
	b = append(b, p.session[:]...)
	b = append(b, p.direction, byte(p.kind))
	for _, n := range []uint64{p.number, p.acked, p.piece} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	flags := byte(0)
	if p.last {
		flags |= 1
	}
	if p.gap {
		flags |= 2
	}
	return append(append(b, flags), p.body...)
}

var errPacket = errors.New("it is no message of this protocol")

func parse(b []byte) (p packet, err error) {
	if len(b) < headSize || b[headSize-1] > 3 {
		return p, errPacket
	}
	copy(p.session[:], b)
	p.direction, p.kind = b[16], kind(b[17])
	p.number, p.acked, p.piece = binary.BigEndian.Uint64(b[18:]), binary.BigEndian.Uint64(b[26:]), binary.BigEndian.Uint64(b[34:])
	p.last, p.gap = b[42]&1 != 0, b[42]&2 != 0
	p.body = b[headSize:]
	if p.kind < hello || p.kind > ping || p.direction != down && p.direction != up {
		return p, errPacket
	}
	return p, nil
}

// A sealer seals for one other end, and opens what it sealed. Methods are safe for concurrent use.
type sealer struct{ shared [32]byte }

// newSealer makes the sealer of a curve seed and the other end's public curve key.
func newSealer(seed, other string) (*sealer, error) {
	prefix, private, err := nkeys.DecodeSeed([]byte(seed))
	if err != nil || prefix != nkeys.PrefixByteCurve || len(private) != 32 {
		return nil, errors.New("it is no seed of a curve key (SX…)")
	}
	public, err := nkeys.Decode(nkeys.PrefixByteCurve, []byte(other))
	if err != nil || len(public) != 32 {
		return nil, errors.New("it is no public curve key (X…)")
	}
	s := new(sealer)
	box.Precompute(&s.shared, (*[32]byte)(public), (*[32]byte)(private))
	return s, nil
}

func (s *sealer) seal(p packet) ([]byte, error) {
	var nonce [24]byte
	if _, err := rand.Read(nonce[:]); err != nil {
		return nil, err
	}
	plain := p.bytes()
	out := make([]byte, 0, len(sealed)+len(nonce)+len(plain)+box.Overhead)
	out = append(append(out, sealed...), nonce[:]...)
	return box.SealAfterPrecomputation(out, plain, &nonce, &s.shared), nil
}

var errSeal = errors.New("it was not sealed with the keys of these two ends")

func (s *sealer) open(b []byte) (packet, error) {
	if len(b) > mostPayload {
		return packet{}, fmt.Errorf("it has %d bytes, more than %d", len(b), mostPayload)
	}
	var nonce [24]byte
	if len(b) < len(sealed)+len(nonce) || string(b[:len(sealed)]) != sealed {
		return packet{}, errSeal
	}
	copy(nonce[:], b[len(sealed):])
	plain, ok := box.OpenAfterPrecomputation(nil, b[len(sealed)+len(nonce):], &nonce, &s.shared)
	if !ok {
		return packet{}, errSeal
	}
	return parse(plain)
}
