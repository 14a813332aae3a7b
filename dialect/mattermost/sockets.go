package mattermost

// Sockets implements workload.Connected: the API and the WebSocket.
func (b *Person) Sockets() int { return 2 }

// Sockets implements workload.Connected: the API.
func (p *Poster) Sockets() int { return 1 }
