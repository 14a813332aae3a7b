package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"
)

// schemes are the beginnings of the addresses of real stores, by role. An address without one is
// that of an own store.
var schemes = map[string][]string{
	KindWide:   {"cassandra"},
	KindSearch: {"http", "https"},
	KindBus:    {"kafka"},
}

// forms are the forms of addresses, for errors.
var forms = map[string]string{
	KindWide:   "HOST:PORT of an own store, or cassandra://HOST:PORT[,HOST:PORT][/KEYSPACE]",
	KindSearch: "HOST:PORT of an own store, or http://HOST:PORT[/INDEX] or https, of OpenSearch",
	KindBus:    "HOST:PORT of an own store, or kafka://HOST:PORT[,HOST:PORT][/TOPIC]",
}

// names are the keyspace, index and topic of addresses that name none: those of the studied
// service.
var names = map[string]string{KindWide: "activity", KindSearch: "feed", KindBus: "feed"}

// nameRE matches names that a keyspace, an index and a topic may all have. The texts of statements
// and paths are made of it.
var nameRE = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)

// An address is where a store is found.
type address struct {
	scheme         string   // "" for an own store
	hosts          []string // host:port; one, except for Cassandra and Kafka
	name           string   // of keyspace, index or topic
	user, password string   // "" without
}

// parseAddress reads a store's address. No error repeats it: it may hold a password.
func parseAddress(role, text string) (a address, err error) {
	bad := func(why string) error {
		return fmt.Errorf("address of the %s store: %s: want %s", role, why, forms[role])
	}
	rest := text
	if scheme, after, ok := strings.Cut(text, "://"); ok {
		if !slices.Contains(schemes[role], scheme) {
			return a, bad("it begins with another word")
		}
		a.scheme = scheme
		a.name = names[role]
		rest = after
	}
	if i := strings.LastIndexByte(rest, '@'); i >= 0 {
		who, ok := "", false
		if who, rest = rest[:i], rest[i+1:]; a.scheme == "" || a.scheme == "kafka" {
			return a, bad("it takes no user")
		}
		if a.user, a.password, ok = strings.Cut(who, ":"); !ok || a.user == "" || a.password == "" {
			return a, bad("its user has no name or no password")
		}
	}
	hosts, name, named := strings.Cut(rest, "/")
	if named && name != "" {
		if a.scheme == "" || !nameRE.MatchString(name) {
			return a, bad(
				"what follows the port is no name of small letters, digits and underscores",
			)
		}
		a.name = name
	}
	a.hosts = strings.Split(hosts, ",")
	if len(a.hosts) > 1 && a.scheme != "cassandra" && a.scheme != "kafka" {
		return a, bad("it has several hosts")
	}
	for _, h := range a.hosts {
		if host, port, err := net.SplitHostPort(h); err != nil || host == "" || port == "" {
			return a, bad("a host or port is missing")
		}
	}
	return a, nil
}

// errOpenPassword reports an address with a password in a command line.
var errOpenPassword = errors.New(
	"a command line is seen by every user of the host, and this one holds a password: put the address into the environment",
)

// openWide, openSearch and openBus return the clients of addresses. They connect when they have to.
func openWide(text string, timeout time.Duration) (wideRows, error) {
	a, err := parseAddress(KindWide, text)
	if err != nil || a.scheme == "" {
		return newOwnWide(text), err
	}
	return newCassandra(a, timeout), nil
}

func openSearch(text string) (searcher, error) {
	a, err := parseAddress(KindSearch, text)
	if err != nil || a.scheme == "" {
		return newOwnSearch(text), err
	}
	return newOpenSearch(a), nil
}

func openBus(text string, timeout time.Duration) (producer, error) {
	a, err := parseAddress(KindBus, text)
	if err != nil || a.scheme == "" {
		return NewBus(text), err
	}
	return newKafka(a, timeout)
}

// A Reader reads the service's telemetry from its bus. Safe for concurrent use.
type Reader interface {
	// Fetch returns the records from an offset on, at most 10,000; none when there are no more yet.
	// ctx needs a deadline.
	Fetch(ctx context.Context, offset int64) ([][]byte, error)
	Close()
}

// OpenReader returns a reader of the bus at an address as [Config].Bus has it. It connects when it
// has to.
func OpenReader(bus string) (Reader, error) {
	a, err := parseAddress(KindBus, bus)
	if err != nil {
		return nil, err
	}
	if a.scheme == "" {
		return NewBus(bus), nil
	}
	return newKafka(a, DefaultStoreTimeout)
}
