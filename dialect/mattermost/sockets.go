package mattermost

import "math"

// Sockets implements workload.Connected: the API, and the WebSockets of the person's devices.
func (b *Person) Sockets() int { return 1 + int(math.Ceil(max(1, b.set.devices))) }

// Sockets implements workload.Connected: the API.
func (p *Poster) Sockets() int { return 1 }
