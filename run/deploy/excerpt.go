package deploy

import (
	"fmt"
	"slices"
)

// mostOutput bounds the output of commands that is kept, in bytes: the beginning and the end of a
// longer one.
const mostOutput = 4 << 20

// An excerpt keeps the beginning and the end of the text that is written to it.
type excerpt struct {
	head, tail []byte
	lost       int
}

// Write implements io.Writer.
func (e *excerpt) Write(p []byte) (int, error) {
	n := min(len(p), mostOutput/2-len(e.head))
	e.head = append(e.head, p[:n]...)
	e.tail = append(e.tail, p[n:]...)
	if over := len(e.tail) - mostOutput/2; over > 0 {
		e.tail = e.tail[:copy(e.tail, e.tail[over:])]
		e.lost += over
	}
	return len(p), nil
}

func (e *excerpt) bytes() []byte {
	out := slices.Clone(e.head)
	if e.lost > 0 {
		out = fmt.Appendf(out, "\n# %d bytes are left out here\n", e.lost)
	}
	return append(out, e.tail...)
}
