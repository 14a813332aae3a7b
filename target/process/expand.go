package process

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Each instance has portsPerInstance ports for itself.
const portsPerInstance = 4

// An Instance is one process of the program, as its command line may depend on it.
type Instance struct {
	Index int                     // from 0
	Ports [portsPerInstance]int   // its own ports; the first is the one of its URL
	Peers [][portsPerInstance]int // ports of all instances, itself included
	URL   string                  // its base URL
	Hosts []string                // addresses that the instances listen on, by index
	Users string                  // base URL that users have: the proxy's, or its own
	Dir   string                  // state directory
	// Engine and DSN name the database; they are empty without one. The DSN is a secret: it belongs
	// into the environment, not into arguments.
	Engine, DSN string
	// Replicas are the DSNs of the database's copies, secrets too.
	Replicas []string
	// Companions are the addresses of the companions, by role.
	Companions map[string]string
}

// variables returns the values of all variables for this instance.
func (in Instance) variables() (map[string]string, error) {
	vars := map[string]string{
		"INDEX":     strconv.Itoa(in.Index),
		"INSTANCES": strconv.Itoa(len(in.Peers)),
		"DIR":       in.Dir,
		"URL":       in.URL,
		"USERS_URL": in.Users,
		"HOST":      in.Hosts[in.Index],
		"HOSTPORT":  in.Peer(in.Index, 0),
	}
	for k := range portsPerInstance {
		suffix := ""
		if k > 0 {
			suffix = strconv.Itoa(k)
		}
		vars["PORT"+suffix] = strconv.Itoa(in.Ports[k])
		var peers []string
		for i := range in.Peers {
			peers = append(peers, in.Peer(i, k))
		}
		vars["PEERS"+suffix] = strings.Join(peers, ",")
	}
	for role, addr := range in.Companions {
		vars[strings.ToUpper(role)] = addr
	}
	if in.DSN == "" {
		return vars, nil
	}
	db, err := splitDSN(in.DSN)
	if err != nil {
		return nil, err
	}
	vars["DB_ENGINE"] = in.Engine
	vars["DSN_REPLICAS"] = strings.Join(in.Replicas, " ")
	vars["DSN_REPLICAS_BARE"] = bareDSNs(in.Replicas)
	maps.Copy(vars, db)
	return vars, nil
}

// loopback is the address on which instances listen unless a [Config] has another.
const loopback = "127.0.0.1"

// Peer returns the address of port k of instance i, host:port.
func (in Instance) Peer(i, k int) string { return in.Hosts[i] + ":" + strconv.Itoa(in.Peers[i][k]) }

// splitDSN takes a DSN to pieces. Errors do not quote it.
func splitDSN(dsn string) (map[string]string, error) {
	scheme, bare, ok := strings.Cut(dsn, "://")
	if !ok {
		return nil, fmt.Errorf("the database's DSN has no scheme")
	}
	// user:password@tcp(host:port)/db is a URL except for the words around the address.
	plain := strings.Replace(strings.Replace(bare, "@tcp(", "@", 1), ")/", "/", 1)
	u, err := url.Parse(scheme + "://" + plain)
	if err != nil || u.Hostname() == "" {
		return nil, fmt.Errorf("the database's DSN has an unknown form")
	}
	password, _ := u.User.Password()
	return map[string]string{
		"DSN":         dsn,
		"DSN_BARE":    bare,
		"DB_HOST":     u.Hostname(),
		"DB_PORT":     u.Port(),
		"DB_NAME":     strings.TrimPrefix(u.Path, "/"),
		"DB_USER":     u.User.Username(),
		"DB_PASSWORD": password,
	}, nil
}

// expand replaces the variables in s; where is for the error. Names in forbidden are refused.
func expand(s, where string, vars map[string]string, forbidden []string) (string, error) {
	var bad error
	out := os.Expand(s, func(name string) string {
		v, ok := vars[name]
		switch {
		case name == "$":
			return "$"
		case slices.Contains(forbidden, name):
			bad = fmt.Errorf(
				"%s: ${%s} is a secret and arguments can be read by every user of this host; pass it in the environment",
				where,
				name,
			)
		case !ok:
			bad = fmt.Errorf(
				"%s: unknown variable ${%s}%s; a plain dollar sign is written $$",
				where,
				name,
				without(name),
			)
		}
		return v
	})
	return out, bad
}

// without explains why a variable of the database is unknown.
func without(name string) string {
	if strings.HasPrefix(name, "D") && name != "DIR" {
		return " (it needs a database: name an engine)"
	}
	return ""
}
