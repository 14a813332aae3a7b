package mattermost

import (
	"math"

	"plimsoll/workload"
)

// Listens reports whether the users of a behavior keep WebSockets, beside what they ask the API.
func Listens(behavior string) bool {
	build := Behaviors()[behavior]
	if build == nil {
		return false
	}
	c, ok := build().(workload.Connected)
	return ok && c.Sockets() > 1
}

// Sockets implements workload.Connected: the API, and the WebSockets of the person's devices.
func (b *Person) Sockets() int { return 1 + int(math.Ceil(max(1, b.set.devices))) }

// Sockets implements workload.Connected: the API.
func (p *Poster) Sockets() int { return 1 }
