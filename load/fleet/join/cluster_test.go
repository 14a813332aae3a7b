package join

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// secureCluster is a nats-server with TLS and the users that "fleet -new-token" prints, at
// tls://HOST:PORT; pin is of its certificate.
func secureCluster(t *testing.T, keys *Keys) (url, pin string) {
	t.Helper()
	other, err := newKeys() // for a certificate that is not the coordinator's
	must(t, err)
	cert, err := other.certificate()
	must(t, err)
	s := cluster(t, keys, &server.Options{MaxPayload: 1 << 20, TLS: true, TLSTimeout: 5,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert},
			MinVersion: tls.VersionTLS13}})
	sum := sha256.Sum256(cert.Certificate[0])
	return "tls://" + s.Addr().String(), "#sha256:" + hex.EncodeToString(sum[:])
}

// A NATS cluster of somebody else with TLS: an nkey for each agent, and a pinned certificate at
// both ends.
func TestSecureCluster(t *testing.T) {
	keys, tokens := keyFiles(t, "a", "b")
	url, pin := secureCluster(t, keys)
	h, _ := hall(t, HallConfig{Keys: keys, URL: url + pin})
	for _, tok := range tokens {
		attend(t, AgentConfig{Token: tok, URL: url + pin})
	}
	await(t, h, 2)
	if !strings.HasSuffix(h.Addr(), pin) {
		t.Errorf("agents are told %s, without the pin", h.Addr())
	}
	for _, name := range []string{"a", "b"} {
		s, err := h.Link(name)
		must(t, err)
		exchange(t, s, 200_000)
	}

	wrong := "#sha256:" + strings.Repeat("0", 64)
	for _, tt := range []struct{ pin, why string }{
		{wrong, "the server's certificate is not the one of the address"},
		{"", "certificate"}, // that no authority has signed
	} {
		if _, err := Open(HallConfig{
			Keys:  keys,
			URL:   url + tt.pin,
			Build: "b1",
			Say:   t.Logf,
		}); !says(err, tt.why) {
			t.Errorf("a coordinator with the pin %q: %v, want %q", tt.pin, err, tt.why)
		}
		attend(t, AgentConfig{
			Token: tokens[0],
			URL:   url + tt.pin,
		}).wait(t, "no connection to", tt.why)
	}

	// A key that the cluster does not know.
	_, strangers := keyFiles(t, "a")
	attend(t, AgentConfig{
		Token: strangers[0],
		URL:   url + pin,
	}).wait(t, "no connection to", "Authorization Violation")
}

func TestAddresses(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"nats://h:1", ""},
		{"tls://h:1", ""},
		{"tls://h:1#sha256:" + strings.Repeat("a", 64), ""},
		{"nats://h:1#sha256:" + strings.Repeat("a", 64), "want tls://HOST:PORT#sha256:HEX"},
		{"tls://h:1#sha256:abc", "want tls://HOST:PORT#sha256:HEX"},
		{"tls://u:p@h:1", "is no address of a server"},
		{"tls://h:1?x", "is no address of a server"},
		{"http://h:1", "want nats:// or tls://HOST:PORT"},
	} {
		a, err := parseAddress(tt.text, "nats", "tls")
		if tt.want == "" && (err != nil || strings.Contains(a.url, "#")) ||
			tt.want != "" && !says(err, tt.want) {
			t.Errorf("%s: %+v, %v; want %q", tt.text, a, err, tt.want)
		}
	}
}
