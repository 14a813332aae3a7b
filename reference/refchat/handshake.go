package refchat

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// A handshakeListener is the fault tls: connections that begin with a TLS handshake get one, with an RSA key of so
// many bits and never resumed, so that each costs a signature. Others are served as they are.
type handshakeListener struct {
	net.Listener
	conf *tls.Config
	made prometheus.Counter
}

func newHandshakeListener(ln net.Listener, bits int, made prometheus.Counter) (*handshakeListener, error) {
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		return nil, fmt.Errorf("the key of the fault tls: %w", err)
	}
	now := time.Now()
	cert := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "refchat"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(365 * 24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("the certificate of the fault tls: %w", err)
	}
	return &handshakeListener{ln, &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		SessionTicketsDisabled: true, NextProtos: []string{"http/1.1"}}, made}, nil
}

func (l *handshakeListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &eitherConn{Conn: c, l: l}, nil
}

// eitherConn decides at its first byte whether it is TLS. Its server reads before it writes, as those of
// HTTP do.
type eitherConn struct {
	net.Conn // as it came
	l        *handshakeListener

	once  sync.Once
	err   error
	mu    sync.Mutex
	inner net.Conn // the connection that is read and written; nil before the first byte
}

const tlsHandshakeRecord = 0x16 // RFC 8446, 5.1

func (c *eitherConn) begin() {
	first := make([]byte, 1)
	if _, c.err = c.Conn.Read(first); c.err != nil {
		return
	}
	var inner net.Conn = &prefixed{Conn: c.Conn, first: first}
	if first[0] == tlsHandshakeRecord {
		t := tls.Server(inner, c.l.conf)
		if c.err = t.Handshake(); c.err != nil {
			return
		}
		c.l.made.Inc()
		inner = t
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inner = inner
}

func (c *eitherConn) now() net.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		return c.Conn
	}
	return c.inner
}

func (c *eitherConn) Read(b []byte) (int, error) {
	if c.once.Do(c.begin); c.err != nil {
		return 0, c.err
	}
	return c.now().Read(b)
}

func (c *eitherConn) Write(b []byte) (int, error) { return c.now().Write(b) }
func (c *eitherConn) Close() error                { return c.now().Close() }

// prefixed gives back a byte that was read too early.
type prefixed struct {
	net.Conn
	first []byte
}

func (p *prefixed) Read(b []byte) (int, error) {
	if len(p.first) > 0 && len(b) > 0 {
		n := copy(b, p.first)
		p.first = p.first[n:]
		return n, nil
	}
	return p.Conn.Read(b)
}
