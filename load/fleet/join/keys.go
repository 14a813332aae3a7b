package join

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nkeys"

	"plimsoll/internal/built"
	"plimsoll/internal/files"
)

// Formats of the two files.
const (
	keysName    = "plimsoll-fleet-"
	keysFormat  = keysName + "1"
	tokenName   = "plimsoll-agent-"
	tokenFormat = tokenName + "1"
)

// mostKeys is the largest key file that is read, in bytes: room for some thousand agents.
const mostKeys = 4 << 20

var nameRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Keys are a coordinator's, and the public halves of its agents'. They are secret.
type Keys struct {
	Format string     `json:"format"`
	NKey   string     `json:"nkey"` // seed
	Cert   string     `json:"certificate"`
	Key    string     `json:"certificate_key"`
	Agents []AgentKey `json:"agents"`
}

// An AgentKey names an agent, and has the public half of its nkey.
type AgentKey struct {
	Name string `json:"name"`
	NKey string `json:"nkey"`
}

// A Token is all that an agent needs besides an address. It is secret.
type Token struct {
	Format      string `json:"format"`
	Name        string `json:"name"`
	NKey        string `json:"nkey"`        // seed
	Fingerprint string `json:"fingerprint"` // of its server's certificate
}

// pair makes an nkey: the seed, and the public half.
func pair() (seed, public string, err error) {
	kp, err := nkeys.CreateUser()
	if err != nil {
		return "", "", err
	}
	s, err := kp.Seed()
	if err != nil {
		return "", "", err
	}
	public, err = kp.PublicKey()
	return string(s), public, err
}

// publicOf returns the public half of a seed.
func publicOf(seed string) (string, error) {
	kp, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		return "", errors.New("a key in it is damaged")
	}
	return kp.PublicKey()
}

// newKeys makes a coordinator's keys, without agents.
func newKeys() (*Keys, error) {
	k := &Keys{Format: keysFormat}
	var err error
	if k.NKey, _, err = pair(); err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	c := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: "plimsoll fleet"},
		// The certificate is pinned: dates are not checked.
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.AddDate(10, 0, 0),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	k.Cert = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	k.Key = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	return k, nil
}

func (k *Keys) certificate() (tls.Certificate, error) {
	return tls.X509KeyPair([]byte(k.Cert), []byte(k.Key))
}

// fingerprint is "sha256:" and the hash of a certificate in DER.
func fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func checkName(name string) error {
	if !nameRE.MatchString(name) {
		return fmt.Errorf(
			"%q is no name of an agent; want letters, digits, '.', '_' and '-', at most 64",
			name,
		)
	}
	return nil
}

// add makes the token of one more agent.
func (k *Keys) add(name string) (*Token, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	for _, a := range k.Agents {
		if a.Name == name {
			return nil, fmt.Errorf(
				"there is an agent %s already; choose another name, or remove its "+
					"entry from the key file",
				name,
			)
		}
	}
	t := &Token{Format: tokenFormat, Name: name}
	a := AgentKey{Name: name}
	var err error
	if t.NKey, a.NKey, err = pair(); err != nil {
		return nil, err
	}
	cert, err := k.certificate()
	if err != nil {
		return nil, err
	}
	t.Fingerprint = fingerprint(cert.Certificate[0])
	k.Agents = append(k.Agents, a)
	return t, nil
}

// NewToken makes the token file of a new agent, which is named for the file, and adds the agent to
// the key file, which is made if it is not there. It returns the name. Another process that does so
// at the same time is waited for.
func NewToken(disk files.Disk, keyFile, tokenFile string) (AgentKey, error) {
	name := strings.TrimSuffix(filepath.Base(tokenFile), filepath.Ext(tokenFile))
	if err := checkName(name); err != nil {
		return AgentKey{}, err
	}
	if err := files.MkdirAll(disk, filepath.Dir(keyFile)); err != nil {
		return AgentKey{}, err
	}
	unlock, err := lockDir(filepath.Dir(keyFile))
	if err != nil {
		return AgentKey{}, err
	}
	defer unlock()
	k, err := ReadKeys(keyFile)
	if errors.Is(err, fs.ErrNotExist) {
		k, err = newKeys()
	}
	if err != nil {
		return AgentKey{}, err
	}
	if _, err := os.Lstat(tokenFile); err == nil {
		return AgentKey{}, fmt.Errorf(
			"token file %s is there already; choose another name",
			tokenFile,
		)
	}
	t, err := k.add(name)
	if err != nil {
		return AgentKey{}, err
	}
	for _, f := range []struct {
		path string
		v    any
	}{{tokenFile, t}, {keyFile, k}} { // a token that no coordinator knows does no harm
		b, err := json.MarshalIndent(f.v, "", "  ")
		if err == nil {
			err = files.Replace(disk, f.path, append(b, '\n'))
		}
		if err != nil {
			return AgentKey{}, err
		}
	}
	return k.Agents[len(k.Agents)-1], nil
}

// lockDir keeps other processes that do the same from a directory until unlock is called or this
// process ends. Where the file system has no locks, it does nothing.
func lockDir(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return func() { _ = f.Close() }, nil
		}
	}
}

// readSecret reads a JSON file that only its owner, and a group that may read it, have. No error
// holds its content.
func readSecret(what, path string, to any) error {
	f, err := files.Open(path)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", what, err)
	case info.Mode()&0o027 != 0:
		return fmt.Errorf("%s %s has mode %04o, so others may read or change it; run: chmod 600 %s",
			what, path, info.Mode().Perm(), path)
	case info.Size() > mostKeys:
		return fmt.Errorf("%s %s has %d bytes; want at most %d", what, path, info.Size(), mostKeys)
	}
	b, err := io.ReadAll(io.LimitReader(f, mostKeys))
	if err != nil {
		return fmt.Errorf("%s %s cannot be read: %w", what, path, err)
	}
	if json.Unmarshal(b, to) != nil {
		return fmt.Errorf("%s %s is not what plimsoll fleet -new-token writes", what, path)
	}
	return nil
}

// ReadKeys reads a coordinator's key file. A file that is not there is an [fs.ErrNotExist].
func ReadKeys(path string) (*Keys, error) {
	k := new(Keys)
	if err := readSecret("key file", path, k); err != nil {
		return nil, err
	}
	if err := built.NewerText(k.Format, keysName, 1); err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	if k.Format != keysFormat {
		return nil, fmt.Errorf(
			"key file %s is not one of a coordinator; want one that plimsoll fleet "+
				"-new-token has made",
			path,
		)
	}
	if _, err := publicOf(k.NKey); err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	if _, err := k.certificate(); err != nil {
		return nil, fmt.Errorf("key file %s: its certificate is damaged", path)
	}
	for _, a := range k.Agents {
		if !nameRE.MatchString(a.Name) || !nkeys.IsValidPublicUserKey(a.NKey) {
			return nil, fmt.Errorf("key file %s: the entry of an agent is damaged", path)
		}
	}
	return k, nil
}

// ReadToken reads an agent's token file.
func ReadToken(path string) (*Token, error) {
	t := new(Token)
	if err := readSecret("token file", path, t); err != nil {
		return nil, fmt.Errorf(
			"%w; to make one, on the coordinator's host: plimsoll fleet -new-token "+
				"FILE",
			err,
		)
	}
	if err := built.NewerText(t.Format, tokenName, 1); err != nil {
		return nil, fmt.Errorf("token file %s: %w", path, err)
	}
	if t.Format != tokenFormat || !nameRE.MatchString(t.Name) {
		return nil, fmt.Errorf("token file %s is not one of an agent; to make one, on the "+
			"coordinator's host: plimsoll fleet -new-token FILE", path)
	}
	if _, err := publicOf(t.NKey); err != nil {
		return nil, fmt.Errorf("token file %s: %w", path, err)
	}
	return t, nil
}

// Secrets returns the values that nothing may show.
func (k *Keys) Secrets() []string { return []string{k.NKey, k.Key} }

// Secrets returns the values that nothing may show.
func (t *Token) Secrets() []string { return []string{t.NKey} }
