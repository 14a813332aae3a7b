package agent

import (
	"net"
	"slices"
	"sync"
)

// A lobby is a listener that bounds the connections which have not shown the token. When it is full, the oldest of
// them makes room for a new one: waiting connections do not delay those that proceed at once. A connection that has
// shown the token is no longer among them.
type lobby struct {
	net.Listener
	most int

	mu     sync.Mutex
	guests []*guest // oldest first
}

// A guest is a connection that has not shown the token.
type guest struct {
	net.Conn
	in *lobby
}

// Accept implements net.Listener.
func (l *lobby) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	g := &guest{c, l}
	var oldest *guest
	l.mu.Lock()
	if len(l.guests) >= l.most {
		oldest = l.guests[0]
		l.guests = slices.Delete(l.guests, 0, 1)
	}
	l.guests = append(l.guests, g)
	l.mu.Unlock()
	if oldest != nil {
		_ = oldest.Conn.Close() // its own goroutine ends it
	}
	return g, nil
}

// admit takes a connection out of the lobby: it has shown the token, or has ended. Once is enough.
func (g *guest) admit() {
	g.in.mu.Lock()
	defer g.in.mu.Unlock()
	if i := slices.Index(g.in.guests, g); i >= 0 {
		g.in.guests = slices.Delete(g.in.guests, i, i+1)
	}
}

// Close implements net.Conn.
func (g *guest) Close() error {
	g.admit()
	return g.Conn.Close()
}
