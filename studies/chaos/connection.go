package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"slices"
	"time"
)

// Faults of connections. When they begin, those that are open are closed.
var connectionModes = []*mode{
	answers("reset", "resets the connection in the place of an answer", (*exchange).reset),
	answers("reset-body", "resets the connection within a body", func(x *exchange) {
		x.say(halfABody)
		x.rest(20 * time.Millisecond)
		x.reset()
	}),
	answers("closed", "closes the connection in the place of an answer",
		func(x *exchange) { x.take() }),
	meets("reset-accept", "resets each new connection", func(_ *proxy, c net.Conn) { reset(c) }),
	holds("frozen-accept", "accepts connections and reads nothing", ""),
}

// meets makes a mode that takes new connections.
func meets(name, what string, do func(p *proxy, c net.Conn)) *mode {
	return &mode{name: name, what: what, conn: do}
}

// holds is meets for one that sends a text and keeps the connection.
func holds(name, what, say string) *mode {
	return meets(name, what, func(p *proxy, c net.Conn) { hold(p, c, say) })
}

// parts is meets for one that sends a text and closes the connection.
func parts(name, what, say string) *mode {
	return meets(name, what, func(_ *proxy, c net.Conn) {
		_, _ = io.WriteString(c, say)
		finish(c)
	})
}

// hold keeps a connection until the proxy ends or the client closes it; bytes from the client are
// dropped. say is sent first.
func hold(p *proxy, c net.Conn, say string) {
	_, _ = io.WriteString(c, say)
	done := make(chan struct{})
	p.wg.Go(func() {
		_, _ = io.Copy(io.Discard, c)
		close(done)
	})
	select {
	case <-p.ctx.Done():
	case <-done:
	}
}

// halfAHello is the beginning of a server's hello.
const halfAHello = "\x16\x03\x03\x00\x7a\x02\x00\x00\x76\x03\x03"

// Faults of TLS. The row's proxy speaks TLS with a certificate that is right until the fault
// begins.
var tlsModes = []*mode{
	{name: "tls-expired", what: "a certificate that has expired", cert: "expired"},
	{name: "tls-name", what: "a certificate of another name", cert: "other name"},
	{name: "tls-taunt", what: "a certificate whose names hold escape sequences", cert: "taunt"},
	{name: "tls-unknown", what: "a certificate of an unknown authority", cert: "unknown"},
	holds("tls-stall", "never answers the client's hello", ""),
	holds("tls-half", "sends the beginning of its hello, and nothing more", halfAHello),
	parts("tls-cut", "closes the connection within its hello", halfAHello),
	parts("tls-plain", "answers the client's hello with plain HTTP", head("400 Bad Request",
		"Content-Type: text/plain", "Content-Length: 0", "Connection: close")),
	// fatal, handshake failure
	parts("tls-alert", "answers the client's hello with an alert", "\x15\x03\x03\x00\x02\x02\x28"),
}

// finish closes a connection in order, after reading everything that the client has sent: otherwise
// it would be a reset.
func finish(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.CloseWrite()
		_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		_, _ = io.Copy(io.Discard, c)
	}
	_ = c.Close()
}

// ofTLS reports whether a mode needs a proxy that speaks TLS.
func (m *mode) ofTLS() bool {
	return slices.Contains(tlsModes, m)
}

// certificates are those of a suite's proxies, by their fault. The authority that signs all but one
// is in the file CA.
type certificates struct {
	authority []byte // PEM
	by        map[string]*tls.Certificate
}

func newCertificates() (*certificates, error) {
	c := &certificates{by: map[string]*tls.Certificate{}}
	ca, err := authority("chaos")
	if err != nil {
		return nil, err
	}
	other, err := authority("somebody else")
	if err != nil {
		return nil, err
	}
	c.authority = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Certificate[0]})
	now := time.Now()
	here := []net.IP{net.IPv4(127, 0, 0, 1)}
	for name, t := range map[string]x509.Certificate{
		"right":      {NotAfter: now.Add(24 * time.Hour), IPAddresses: here},
		"unknown":    {NotAfter: now.Add(24 * time.Hour), IPAddresses: here},
		"expired":    {NotAfter: now.Add(-24 * time.Hour), IPAddresses: here},
		"other name": {NotAfter: now.Add(24 * time.Hour), DNSNames: []string{"chat.example.com"}},
		"taunt": {
			NotAfter: now.Add(24 * time.Hour),
			DNSNames: []string{"\x1b[31mowned\x1b]0;x\x07"},
			Subject:  pkix.Name{CommonName: "\x1b[31m\n" + forged},
		},
	} {
		t.SerialNumber, t.KeyUsage = big.NewInt(now.UnixNano()), x509.KeyUsageDigitalSignature
		t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		by := ca
		if name == "unknown" {
			by = other
		}
		if c.by[name], err = signed(&t, by); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func authority(name string) (*tls.Certificate, error) {
	return signed(&x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: name},
		NotAfter:              time.Now().Add(48 * time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}, nil)
}

// signed makes a certificate with a key of its own, which began two days ago. An authority signs it;
// without one it signs itself.
func signed(t *x509.Certificate, by *tls.Certificate) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	own := &tls.Certificate{PrivateKey: key, Leaf: t}
	if by == nil {
		by = own
	}
	t.NotBefore = time.Now().Add(-48 * time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, t, by.Leaf, key.Public(), by.PrivateKey)
	if err != nil {
		return nil, err
	}
	own.Certificate = [][]byte{der}
	own.Leaf, err = x509.ParseCertificate(der)
	return own, err
}

// config shows the right certificate, or the fault's while it strikes.
func (c *certificates) config(p *proxy) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS12,
		SessionTicketsDisabled: true,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			name := "right"
			if p.mode.cert != "" && p.script.activeNow() {
				p.struck.Add(1)
				name = p.mode.cert
			}
			return c.by[name], nil
		},
	}
}
