package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"slices"
	"time"
)

// Faults of connections. When they begin, those that are open are closed.
var connectionModes = []*mode{
	{
		name:   "reset",
		what:   "resets the connection in the place of an answer",
		answer: func(x *exchange) { x.reset() },
	},
	{name: "reset-body", what: "resets the connection within a body", answer: func(x *exchange) {
		x.say(
			head(
				"201 Created",
				"Content-Type: application/json",
				"Content-Length: 4000",
			) + `{"id":"`,
		)
		x.rest(20 * time.Millisecond)
		x.reset()
	}},
	{
		name:   "closed",
		what:   "closes the connection in the place of an answer",
		answer: func(x *exchange) { x.take() },
	},
	{
		name: "reset-accept",
		what: "resets each new connection",
		conn: func(_ *proxy, c net.Conn) { reset(c) },
	},
	{
		name: "frozen-accept",
		what: "accepts connections and reads nothing",
		conn: func(p *proxy, c net.Conn) { hold(p, c, nil) },
	},
}

// hold keeps a connection until the proxy ends or the client closes it; bytes from the client are
// dropped. say is sent first.
func hold(p *proxy, c net.Conn, say []byte) {
	_, _ = c.Write(say)
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

// Faults of TLS. The row's proxy speaks TLS with a certificate that is right until the fault
// begins.
var tlsModes = []*mode{
	{
		name: "tls-expired",
		what: "a certificate that has expired",
		cert: func(*certificates) string { return "expired" },
	},
	{
		name: "tls-name",
		what: "a certificate of another name",
		cert: func(*certificates) string { return "other name" },
	},
	{
		name: "tls-taunt",
		what: "a certificate whose names hold escape sequences",
		cert: func(*certificates) string { return "taunt" },
	},
	{
		name: "tls-unknown",
		what: "a certificate of an unknown authority",
		cert: func(*certificates) string { return "unknown" },
	},
	{
		name: "tls-stall",
		what: "never answers the client's hello",
		conn: func(p *proxy, c net.Conn) { hold(p, c, nil) },
	},
	{
		name: "tls-half",
		what: "sends the beginning of its hello, and nothing more",
		conn: func(p *proxy, c net.Conn) {
			hold(p, c, []byte{22, 3, 3, 0, 122, 2, 0, 0, 118, 3, 3})
		},
	},
	{
		name: "tls-cut",
		what: "closes the connection within its hello",
		conn: func(_ *proxy, c net.Conn) {
			_, _ = c.Write([]byte{22, 3, 3, 0, 122, 2, 0, 0, 118, 3, 3})
			finish(c)
		},
	},
	{
		name: "tls-plain",
		what: "answers the client's hello with plain HTTP",
		conn: func(_ *proxy, c net.Conn) {
			_, _ = io.WriteString(c, head(
				"400 Bad Request",
				"Content-Type: text/plain",
				"Content-Length: 0",
				"Connection: close",
			))
			finish(c)
		},
	},
	{
		name: "tls-alert",
		what: "answers the client's hello with an alert",
		conn: func(_ *proxy, c net.Conn) {
			_, _ = c.Write([]byte{21, 3, 3, 0, 2, 2, 40}) // fatal, handshake failure
			finish(c)
		},
	},
}

// finish closes a connection in order, after reading everything that the client has sent: otherwise
// it would be a reset.
func finish(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.CloseWrite()
	}
	_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	_, _ = io.Copy(io.Discard, c)
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
	ca, caKey, err := newAuthority("chaos")
	if err != nil {
		return nil, err
	}
	other, otherKey, err := newAuthority("somebody else")
	if err != nil {
		return nil, err
	}
	c.authority = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Raw})
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
		t.SerialNumber, t.NotBefore = big.NewInt(now.UnixNano()), now.Add(-48*time.Hour)
		t.KeyUsage, t.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{
			x509.ExtKeyUsageServerAuth,
		}
		by, key := ca, caKey
		if name == "unknown" {
			by, key = other, otherKey
		}
		own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		der, err := x509.CreateCertificate(rand.Reader, &t, by, &own.PublicKey, key)
		if err != nil {
			return nil, err
		}
		c.by[name] = &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: own}
	}
	return c, nil
}

func newAuthority(name string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	t := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             time.Now().Add(-48 * time.Hour),
		NotAfter:              time.Now().Add(48 * time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, &key.PublicKey, key)
	if err != nil {
		return nil, nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return cert, key, err
}

// config shows the right certificate, or the fault's while it strikes.
func (c *certificates) config(p *proxy) *tls.Config {
	return &tls.Config{
		MinVersion:             tls.VersionTLS12,
		SessionTicketsDisabled: true,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			name := "right"
			if p.mode.cert != nil && p.script.activeNow() {
				p.struck.Add(1)
				name = p.mode.cert(c)
			}
			cert := c.by[name]
			if cert == nil {
				return nil, errors.New("no such certificate")
			}
			return cert, nil
		},
	}
}
