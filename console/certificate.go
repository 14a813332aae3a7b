package console

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"plimsoll/internal/files"
	"plimsoll/record"
)

const (
	// ownCertificate is the file of the store in which a certificate of our own and its key are
	// kept, so that its fingerprint stays.
	ownCertificate  = "console.pem"
	certificateDays = 365
	mostPEM         = 64 << 10
)

// certificate returns the certificate of the files. Without files it returns the certificate kept
// in the store, and makes a new one if that is missing, has expired or does not cover names.
func certificate(root, certFile, keyFile string, names []string) (tls.Certificate, error) {
	if certFile != "" || keyFile != "" {
		if certFile == "" || keyFile == "" {
			return tls.Certificate{}, errors.New("-tls-cert and -tls-key go together")
		}
		return tls.LoadX509KeyPair(certFile, keyFile)
	}
	path := filepath.Join(root, ownCertificate)
	b, err := files.Read(path, mostPEM)
	if err == nil {
		if c, err := tls.X509KeyPair(b, b); err == nil && covers(c.Leaf, names) {
			return c, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return tls.Certificate{}, err
	}
	if b, err = newCertificate(names, time.Now()); err != nil {
		return tls.Certificate{}, err
	}
	if err := files.Replace(record.OS{}, path, b); err != nil {
		return tls.Certificate{}, fmt.Errorf("keeping the certificate: %w", err)
	}
	return tls.X509KeyPair(b, b)
}

// covers reports whether a certificate is valid for another day, for all names.
func covers(c *x509.Certificate, names []string) bool {
	if time.Now().Add(24 * time.Hour).After(c.NotAfter) {
		return false
	}
	for _, n := range names {
		if c.VerifyHostname(n) != nil {
			return false
		}
	}
	return true
}

// newCertificate makes a certificate and its key in PEM.
func newCertificate(names []string, now time.Time) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	c := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "plimsoll console"},
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.AddDate(0, 0, certificateDays),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, n)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	k, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: k})...), nil
}

// fingerprint is the SHA-256 of a certificate, as browsers show it.
func fingerprint(c tls.Certificate) string {
	sum := sha256.Sum256(c.Certificate[0])
	return hex.EncodeToString(sum[:])
}

// namesOf returns the names and addresses by which clients reach a listener: the listener's address
// (for an unspecified address, every address of this host that is not link-local), the host's name,
// and localhost.
func namesOf(address string) []string {
	host, _, _ := net.SplitHostPort(address)
	names := []string{}
	if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
		names = append(names, host)
	} else if all, err := net.InterfaceAddrs(); err == nil {
		for _, a := range all {
			if n, ok := a.(*net.IPNet); ok && !n.IP.IsLinkLocalUnicast() {
				names = append(names, n.IP.String())
			}
		}
	}
	if name, err := os.Hostname(); err == nil {
		names = append(names, name)
	}
	return append(names, "localhost")
}
