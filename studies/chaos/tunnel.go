package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
)

// tunnel connects a WebSocket with the server's, until the fault takes it over.
func (p *proxy) tunnel(x *exchange, active bool) {
	refuse := p.mode.upgrade
	if refuse == nil && !p.mode.sockets {
		refuse = p.mode.answer
	}
	if active && refuse != nil {
		p.strike(x, refuse)
		return
	}
	c := x.take()
	if c == nil {
		return
	}
	defer x.end()
	up, err := net.Dial("tcp", p.upstream)
	if err != nil {
		return
	}
	p.keep(up)
	defer p.drop(up)
	req := x.req.Clone(p.ctx)
	p.swapIn(req.Header)
	req.Body = nil
	if err := req.Write(up); err != nil {
		return
	}
	from := bufio.NewReader(up)
	resp, err := http.ReadResponse(from, req)
	if err != nil {
		return
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %s\r\n", resp.Status)
	_ = resp.Header.Write(&b)
	b.WriteString("\r\n")
	if !x.say(b.String()) || resp.StatusCode != http.StatusSwitchingProtocols {
		return
	}
	p.wg.Go(func() {
		_, _ = io.Copy(up, c)
		p.drop(up)
	})
	frames := make(chan []byte)
	done := make(chan struct{})
	defer close(done)
	p.wg.Go(func() {
		defer close(frames)
		for {
			f, err := readFrame(from)
			if err != nil {
				return
			}
			select {
			case frames <- f:
			case <-done:
				return
			}
		}
	})
	var strike <-chan struct{}
	if p.mode.socket != nil {
		strike = p.script.strikes()
	}
	for n := 0; ; n++ {
		select {
		case f, ok := <-frames:
			if !ok || !x.send(f) {
				return
			}
		case <-strike:
			if n == 0 {
				if f, ok := <-frames; !ok || !x.send(f) {
					return
				}
			}
			p.struck.Add(1)
			p.mode.socket(x)
			return
		case <-p.ctx.Done():
			return
		}
	}
}

// readFrame reads one unmasked frame of a WebSocket with its head.
func readFrame(r io.Reader) ([]byte, error) {
	f := make([]byte, 2, 128)
	if _, err := io.ReadFull(r, f); err != nil {
		return nil, err
	}
	n := int(f[1] & 127)
	more := map[int]int{126: 2, 127: 8}[n]
	if more > 0 {
		f = append(f, make([]byte, more)...)
		if _, err := io.ReadFull(r, f[2:]); err != nil {
			return nil, err
		}
		n = 0
		for _, b := range f[2:] {
			n = n<<8 | int(b)
		}
	}
	if n < 0 || n > mostRequest {
		return nil, errors.New("a frame that is too long")
	}
	at := len(f)
	f = append(f, make([]byte, n)...)
	_, err := io.ReadFull(r, f[at:])
	return f, err
}
