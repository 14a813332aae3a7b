package dataset

import (
	"encoding/base32"
	"math/bits"
)

// A kind separates the random streams and the identifiers of different things.
type kind uint64

const (
	kindUser kind = iota + 1
	kindTeam
	kindChannel
	kindPost
	kindFile
	kindInvite
	kindCategory
	kindMember
	kindText
	kindWord
	kindReaction
	kindStatus
)

// mix is the finalizer of SplitMix64 (Steele, Lea and Flood 2014): a bijection of 64 bits that
// looks random.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

const golden = 0x9e3779b97f4a7c15

// stream is SplitMix64: a random generator of one word, cheap enough to have one per post.
type stream uint64

// newStream returns the stream of thing n of a kind.
func newStream(seed uint64, k kind, n uint64) stream {
	return stream(mix(mix(seed+golden*uint64(k)) + golden*n))
}

func (s *stream) next() uint64 {
	*s += golden
	return mix(uint64(*s))
}

// below returns a number in [0, n).
func (s *stream) below(n int) int {
	hi, _ := bits.Mul64(s.next(), uint64(n))
	return int(hi)
}

// chance reports true for p parts of a million.
func (s *stream) chance(p int) bool { return s.below(1_000_000) < p }

// zipf returns k in [0, n), where k is about twice as likely as 2k: the octaves of k+1 are equally
// likely, and all numbers of an octave. Only whole numbers are computed with, so that all machines
// agree.
func (s *stream) zipf(n int) int {
	octaves := bits.Len(uint(n))
	for {
		x := s.next()
		hi, lo := bits.Mul64(x, uint64(octaves))
		below, _ := bits.Mul64(lo, 1<<hi)
		if k := 1<<hi | int(below); k <= n {
			return k - 1
		}
	}
}

// idEncoding is the alphabet of the servers' identifiers.
var idEncoding = base32.NewEncoding("ybndrfg8ejkmcpqxot1uwisza345h769").
	WithPadding(base32.NoPadding)

// An ID is an identifier: 26 lower-case letters and digits.
type ID [26]byte

func (id ID) String() string { return string(id[:]) }

// newID returns the identifier of thing n of a kind.
func newID(seed uint64, k kind, n uint64) (id ID) {
	s := newStream(seed^0x5bd1e9955bd1e995, k, n)
	var b [16]byte
	for i := 0; i < 16; i += 8 {
		x := s.next()
		for j := range 8 {
			b[i+j] = byte(x >> (8 * j))
		}
	}
	idEncoding.Encode(id[:], b[:])
	return id
}

// A permutation is a bijection of [0, n): a Feistel network of four rounds on the next even power
// of two, walked until it comes back into the range.
type permutation struct {
	n    uint64
	half uint // bits of one half
	key  uint64
}

func newPermutation(n int, key uint64) permutation {
	return permutation{n: uint64(n), half: uint(bits.Len64(uint64(max(n-1, 1)))+1) / 2, key: key}
}

func (p permutation) at(k int) int {
	x := uint64(k)
	mask := uint64(1)<<p.half - 1
	for {
		l, r := x>>p.half, x&mask
		for i := range uint64(4) {
			l, r = r, l^(mix(p.key+golden*(r<<2|i))&mask)
		}
		if x = l<<p.half | r; x < p.n {
			return int(x)
		}
	}
}

// alias draws from a discrete distribution in constant time (Walker 1977, in whole numbers).
type alias struct {
	keep  []uint32 // of 1<<32: how often to keep the column
	other []int32
}

// newAlias takes weights, of which at least one is positive.
func newAlias(weights []uint64) alias {
	n := len(weights)
	var sum uint64
	for _, w := range weights {
		sum += w
	}
	a := alias{keep: make([]uint32, n), other: make([]int32, n)}
	scaled := make([]uint64, n) // sum means exactly one column
	var small, large []int32
	for i, w := range weights {
		scaled[i] = w * uint64(n)
		a.other[i] = int32(i)
		if scaled[i] < sum {
			small = append(small, int32(i))
		} else {
			large = append(large, int32(i))
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		hi, lo := bits.Mul64(scaled[s], 1<<32)
		q, _ := bits.Div64(hi, lo, sum)
		a.keep[s], a.other[s] = uint32(q), l
		if scaled[l] -= sum - scaled[s]; scaled[l] < sum {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
	return a // the rest keeps its own column; its alias is the column itself
}

func (a alias) draw(s *stream) int {
	x := s.next()
	hi, lo := bits.Mul64(x, uint64(len(a.keep)))
	if uint32(lo>>32) < a.keep[hi] {
		return int(hi)
	}
	return int(a.other[hi])
}
