package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
)

// mutations are how many modes of mutated JSON there are, each with a seed of its own.
const mutations = 4

// mutated returns the mode that changes every answer in a way that its seed and the answer's number
// decide.
func mutated(seed uint64) *mode {
	return &mode{
		name:    fmt.Sprintf("mutated-%d", seed),
		sockets: true,
		what:    fmt.Sprintf("changes the JSON of every answer at random, seed %d", seed),
		answer: func(x *exchange) {
			a := x.real()
			if len(a.body) > 0 {
				a.body = mutate(rand.New(rand.NewPCG(seed, uint64(x.number))), a.body)
			}
			x.pass(a)
		},
	}
}

// values are the replacements of a field's value.
var values = []string{
	"null",
	"true",
	"-1",
	"0",
	"1e400",
	"99999999999999999999",
	`""`,
	`"\u0000"`,
	`"\ud800"`,
	"[]",
	"{}",
	`[[[]]]`,
	`"../../etc"`,
	`{"id":{}}`,
	"NaN",
}

var jsonValue = regexp.MustCompile(`:("(?:[^"\\]|\\.)*"|-?[0-9.]+|true|false|null)`)

// mutate returns body with one to three changes: a value replaced, a byte flipped, a stretch
// removed or repeated, or the end cut off. The same source gives the same changes.
func mutate(r *rand.Rand, body []byte) []byte {
	b := bytes.Clone(body)
	for range 1 + r.IntN(3) {
		if len(b) < 2 {
			return b
		}
		i := r.IntN(len(b))
		j := min(len(b), i+1+r.IntN(16))
		switch r.IntN(6) {
		case 0, 1:
			found := jsonValue.FindAllSubmatchIndex(b, -1)
			if len(found) == 0 {
				continue
			}
			at := found[r.IntN(len(found))]
			b = bytes.Join([][]byte{b[:at[2]], []byte(values[r.IntN(len(values))]), b[at[3]:]}, nil)
		case 2:
			b[i] ^= 1 << r.IntN(8)
		case 3:
			b = append(b[:i:i], b[j:]...)
		case 4:
			b = bytes.Join([][]byte{b[:j], b[i:j], b[j:]}, nil)
		case 5:
			b = b[:i]
		}
	}
	return b
}
