package fleet

import (
	"encoding/json"
	"io"
)

// shared are marks and lines of clocks that many links get. Each is encoded once and put into their requests as it is:
// to encode it for each of them, or to have the encoder read each one's copy, is most of the work of a round.
type shared struct {
	accepted [][]byte // marks in JSON
	clocks   [][]byte // clockNotes in JSON, with commas between them
}

// size is what the parts take in a request, in bytes, with the commas between them.
func (s shared) size() (n int) {
	for _, list := range [...][][]byte{s.accepted, s.clocks} {
		for _, part := range list {
			n += len(part) + 1
		}
	}
	return n
}

// writeRequest writes a request: a line of JSON, in one write.
func writeRequest(to io.Writer, r request) error {
	if r.Collect == nil || r.Collect.news.size() == 0 {
		return json.NewEncoder(to).Encode(r)
	}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = to.Write(append(r.Collect.news.into(line), '\n'))
	return err
}

// collectHead is how the line of a request with a collect begins, before its members.
const collectHead = `{"collect":{`

// into returns the line of a collect with the parts, of which there are some, as its first members.
func (s shared) into(line []byte) []byte {
	const accepted, clocks = `"accepted":[`, `"clocks":[`
	out := make([]byte, 0, len(line)+s.size()+len(accepted+"],"+clocks+"],\n"))
	out = append(out, line[:len(collectHead)]...)
	out = appendList(out, accepted, s.accepted)
	out = appendList(out, clocks, s.clocks)
	rest := line[len(collectHead):]
	if rest[0] == '}' { // no member follows the last comma
		out = out[:len(out)-1]
	}
	return append(out, rest...)
}

// appendList appends a member that is a list and the comma behind it; nothing for an empty list.
func appendList(b []byte, head string, list [][]byte) []byte {
	if len(list) == 0 {
		return b
	}
	b = append(b, head...)
	for i, part := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, part...)
	}
	return append(b, "],"...)
}
