package agent

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"
	"time"

	"plimsoll/internal/files"
)

// fingerprintPrefix names the hash of a fingerprint.
const fingerprintPrefix = "sha256:"

// Fingerprint returns "sha256:" and the hexadecimal SHA-256 of a certificate in DER, as "openssl x509 -fingerprint
// -sha256" computes it.
func Fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return fingerprintPrefix + hex.EncodeToString(sum[:])
}

// ParseFingerprint reads a fingerprint: "sha256:" and 64 hexadecimal digits, in either case, with or without colons.
func ParseFingerprint(s string) (string, error) {
	digits := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(s, fingerprintPrefix), ":", ""))
	b, err := hex.DecodeString(digits)
	if err != nil || len(b) != sha256.Size || !strings.HasPrefix(s, fingerprintPrefix) {
		return "", errors.New("fingerprint: want sha256: and 64 hexadecimal digits, as plimsoll agent -probe prints them")
	}
	return fingerprintPrefix + digits, nil
}

// SelfMade makes a certificate with a new key, which lives in memory only: it is another one after the next start.
func SelfMade() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	c := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "plimsoll agent"},
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.AddDate(10, 0, 0), // pinned: dates are not checked
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// Bounds of a token. The shorter one holds more than 64 random bits in base64.
const (
	minToken = 16
	maxToken = 4096
)

// ReadToken reads the token of a file, without the line feed at its end. A file that others than its owner and group
// may read, or that others than its owner may write, is refused. No error holds the token.
func ReadToken(path string) (string, error) {
	const remedy = "make one: umask 077; openssl rand -hex 32 > FILE"
	f, err := files.Open(path)
	if err != nil {
		return "", fmt.Errorf("token file: %w; %s", err, remedy)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", fmt.Errorf("token file: %w", err)
	case info.Mode()&0o027 != 0:
		return "", fmt.Errorf("token file %s has mode %04o, so others may read or change it; run: chmod 600 %s", path, info.Mode().Perm(), path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxToken+2))
	if err != nil {
		return "", fmt.Errorf("token file %s cannot be read: %w", path, err)
	}
	token := strings.TrimRight(string(b), "\r\n")
	if len(token) < minToken || len(token) > maxToken {
		return "", fmt.Errorf("token file %s: want %d to %d characters; %s", path, minToken, maxToken, remedy)
	}
	if !sendable(token) {
		return "", fmt.Errorf("token file %s: want one line of visible ASCII characters; %s", path, remedy)
	}
	return token, nil
}

// maxCA is the largest file of certificate authorities that is read, in bytes; that of a host has a quarter of it.
const maxCA = 1 << 20

// readCA reads a file of certificate authorities.
func readCA(path string) ([]byte, error) {
	b, err := files.Read(path, maxCA)
	if err != nil {
		return nil, fmt.Errorf("%w; name a file with the certificates that are needed, in PEM", err)
	}
	return b, nil
}

// sendable reports whether a token can be sent in a header as it is.
func sendable(token string) bool {
	for _, c := range []byte(token) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return token != ""
}
