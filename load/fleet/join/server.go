package join

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// Subjects of an agent, by the public half of its nkey.
func downTo(agent string) string { return "plimsoll." + agent + ".down" }
func upFrom(agent string) string { return "plimsoll." + agent + ".up.>" }

// allUp are the subjects that a coordinator listens to, and allDown those on which it speaks.
const (
	allUp   = "plimsoll.*.up.>"
	allDown = "plimsoll.*.down"
)

// startPatience is the longest time until a server listens.
const startPatience = 10 * time.Second

// permissions are the subjects of one nkey, as a configuration of nats-server has them.
func permissions(nkey, publish, subscribe string) string {
	return fmt.Sprintf(`{nkey: %s, permissions: {publish: [%q], subscribe: [%q]}}`,
		nkey, publish, subscribe)
}

// Permissions are the subjects of one agent, as a configuration of nats-server has them.
func (a AgentKey) Permissions() string {
	return permissions(a.NKey, upFrom(a.NKey), downTo(a.NKey))
}

// Permissions are the subjects of the coordinator, as a configuration of nats-server has them.
func (k *Keys) Permissions() (string, error) {
	own, err := publicOf(k.NKey)
	return permissions(own, allDown, allUp), err
}

// authorize gives the options of a server its users: the coordinator and its agents, each with its
// own subjects.
func (k *Keys) authorize(opts *server.Options) error {
	users, err := k.Permissions()
	if err != nil {
		return err
	}
	for _, a := range k.Agents {
		users += "\n" + a.Permissions()
	}
	return opts.ProcessConfigString("authorization: {users: [\n" + users + "\n]}")
}

// embed starts a server in this process at an address, HOST:PORT. say gets a line about each client
// that it refuses.
func embed(k *Keys, listen string, say func(string, ...any)) (*server.Server, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, fmt.Errorf(
			"the fleet's address %q: want HOST:PORT, such as 10.0.0.4:4222",
			listen,
		)
	}
	n, err := strconv.Atoi(port)
	if err != nil || n < 0 || n > 65535 {
		return nil, fmt.Errorf("the fleet's address %q: want a port of 0 to 65535", listen)
	}
	if n == 0 {
		n = server.RANDOM_PORT
	}
	cert, err := k.certificate()
	if err != nil {
		return nil, err
	}
	opts := &server.Options{
		ServerName: "plimsoll",
		Host:       host,
		Port:       n,
		NoLog:      false,
		NoSigs:     true,
		MaxPayload: mostMessage,
		MaxPending: 4 * mostMessage,
		TLS:        true,
		TLSTimeout: 5,
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{cert},
			MinVersion:   tls.VersionTLS13,
		},
		PingInterval:    2 * time.Second,
		MaxPingsOut:     2,
		WriteDeadline:   time.Minute,
		NoSystemAccount: true,
	}
	if err := k.authorize(opts); err != nil {
		return nil, err
	}
	s, err := server.NewServer(opts)
	if err != nil {
		return nil, err
	}
	s.SetLoggerV2(refusals{say}, false, false, false)
	go s.Start()
	if !s.ReadyForConnections(startPatience) {
		s.Shutdown()
		return nil, fmt.Errorf("the fleet cannot listen at %s; is the port in use by another run? "+
			"Choose another address", listen)
	}
	return s, nil
}

// refusals show the lines of a server's log about refused clients.
type refusals struct{ say func(string, ...any) }

func (r refusals) Errorf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	for _, part := range []string{"authentication error", "Violation", "TLS handshake error",
		"maximum payload", "Slow Consumer"} {
		if strings.Contains(text, part) {
			r.say("refused by the fleet's server: %s", text)
			return
		}
	}
}
func (refusals) Noticef(string, ...any)          {}
func (r refusals) Warnf(format string, v ...any) { r.Errorf(format, v...) }
func (refusals) Fatalf(string, ...any)           {}
func (refusals) Debugf(string, ...any)           {}
func (refusals) Tracef(string, ...any)           {}

// pinned is TLS with one certificate, whoever has signed it; where says in errors who names it.
func pinned(want, where string) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, //nolint:gosec // the next line verifies
		VerifyConnection: func(cs tls.ConnectionState) error {
			if len(cs.PeerCertificates) == 0 || fingerprint(cs.PeerCertificates[0].Raw) != want {
				return fmt.Errorf(
					"the server's certificate is not the one of the %s: another coordinator, "+
						"or somebody between",
					where,
				)
			}
			return nil
		},
	}
}

// options returns the options of both ends' connections.
func options(seed string) ([]nats.Option, error) {
	kp, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		return nil, errors.New("the nkey is damaged")
	}
	public, err := kp.PublicKey()
	if err != nil {
		return nil, err
	}
	return []nats.Option{
		nats.Nkey(public, kp.Sign), nats.MaxReconnects(-1), nats.ReconnectBufSize(-1),
		nats.Timeout(2 * time.Second),
		nats.PingInterval(2 * time.Second), nats.MaxPingsOutstanding(2), nats.IgnoreAuthErrorAbort(),
		nats.IgnoreDiscoveredServers(),
		nats.CustomReconnectDelay(func(attempts int) time.Duration {
			return min(250*time.Millisecond<<min(attempts, 4), 4*time.Second)
		}),
	}, nil
}

// pinRE is the form of a pinned certificate in an address.
var pinRE = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// An address leads to a server: nats://HOST:PORT, or tls://HOST:PORT with a certificate of an
// authority that this host trusts, or tls://HOST:PORT#sha256:HEX with one whose hash in DER that
// is, whoever has signed it.
type address struct {
	url    string // without the pin
	secure bool
	pin    string // "" for none
}

// parseAddress reads the address of a server, of the schemes that are possible.
func parseAddress(s string, schemes ...string) (a address, err error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil || u.Path != "" && u.Path != "/" ||
		u.RawQuery != "" {
		return a, fmt.Errorf("%q is no address of a server; want %s://HOST:PORT", s, schemes[0])
	}
	if !slices.Contains(schemes, u.Scheme) {
		return a, fmt.Errorf("%q: want %s://HOST:PORT", s, strings.Join(schemes, ":// or "))
	}
	a = address{secure: u.Scheme == "tls", pin: u.Fragment}
	if a.pin != "" && (!a.secure || !pinRE.MatchString(a.pin)) {
		return a, fmt.Errorf(
			"%q: want tls://HOST:PORT#sha256:HEX, with the 64 hexadecimal digits of "+
				"the hash of the server's certificate",
			s,
		)
	}
	u.Fragment = ""
	a.url = u.String()
	return a, nil
}

// option is TLS as a tls:// address has it.
func (a address) option() nats.Option {
	if a.pin != "" {
		return nats.Secure(pinned(a.pin, "address"))
	}
	return nats.Secure(&tls.Config{MinVersion: tls.VersionTLS13})
}
