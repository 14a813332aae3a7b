package refnull

import (
	"hash/fnv"
)

var teamID = idOf([]byte("team"))

// A server's serial numbers begin at its number shifted so far: room for more ids than any makes.
const (
	numberShift = 48
	mostNumber  = 1<<16 - 1
)

// idOf makes 26 letters and digits of a name.
func idOf(name []byte) []byte {
	h := fnv.New64a()
	h.Write(name)
	return appendID(nil, h.Sum64(), uint64(len(name)))
}

const letters = "ybndrfg8ejkmcpqxot1uwisza345h769"

// appendID appends 26 letters and digits that two numbers decide.
func appendID(b []byte, x, y uint64) []byte {
	for range 2 {
		// an invertible mixture (MurmurHash3's finalizer), so that two serial numbers never meet
		x ^= y
		x = (x ^ x>>33) * 0xff51afd7ed558ccd
		x = (x ^ x>>33) * 0xc4ceb9fe1a85ec53
		x ^= x >> 33
		for k := range 13 {
			b = append(b, letters[x>>(5*k)&31])
		}
		y = y*6364136223846793005 + 1442695040888963407
	}
	return b
}

// fresh appends an id that no other object of this server has, nor of one with another number.
func (s *Server) fresh(b []byte) []byte { return appendID(b, s.serial.Add(1), 0x9e3779b97f4a7c15) }

// id appends the id of the object with a name, and stores the name.
func (s *Server) id(b, name []byte) []byte {
	id := idOf(name)
	if _, known := s.names.Load(string(id)); !known {
		s.names.Store(string(id), string(name))
	}
	return append(b, id...)
}

// name appends the name of a user.
func (s *Server) name(b, id []byte) []byte {
	if n, ok := s.names.Load(string(id)); ok {
		return append(b, n.(string)...)
	}
	return append(append(b, "user-"...), id...)
}
