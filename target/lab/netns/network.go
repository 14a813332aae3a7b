package netns

import (
	"context"
	"errors"
	"fmt"
)

// MostNetworks limits the networks that one program has at once.
const MostNetworks = 64

// A Network is three network namespaces and the wires between them, as three hosts would be, for
// one server and its stores:
//
//	users ──── host ──── stores
//	             │
//	           bridge ── server     (bridged only)
//
// Users are this program itself. The stores (database, cache and other servers) listen in "stores".
// The server runs in "host", or, bridged, in a namespace of its own behind a bridge in "host",
// which publishes a port by address translation. Users and stores see the same addresses in both.
// There is no way from here to any other network. Its methods are called by one goroutine at a
// time.
//
// Of a host's packets the sender pays for the sending and the receiver for the receiving, address
// translation included. On one machine the sender's core would do both, so a network is given the
// cores of both sides, if they have some: see [Namespace.Steer].
type Network struct {
	index  int
	host   *Namespace
	stores *Namespace
	server *Namespace // bridged; else nil
	wired  bool       // the users have their device
}

// Sides are the cores of users and of the system that they use; empty for any.
type Sides struct{ Users, Server []int }

// NewNetwork makes network number index, from 0 to MostNetworks-1, of which each has addresses of
// its own in 198.18.0.0/15, which RFC 2544 sets aside for measuring networks. This program gets a
// device and a route, so it must be in a network of its own. The caller must call Close.
func NewNetwork(ctx context.Context, index int, bridged bool, sides Sides) (*Network, error) {
	if index < 0 || index >= MostNetworks {
		return nil, fmt.Errorf("network %d: there are at most %d", index, MostNetworks)
	}
	n := &Network{index: index}
	if err := n.build(ctx, bridged, sides); err != nil {
		return nil, errors.Join(
			fmt.Errorf("making the network of a deployment: %w", err),
			n.Close(context.WithoutCancel(ctx)),
		)
	}
	return n, nil
}

// The subnets of a network. One of each four is spare.
const (
	front = iota // users and host
	back         // host and stores
	inner        // bridge and server

	subnets = 4
)

// at returns address number last of a subnet.
func (n *Network) at(subnet, last int) string {
	return fmt.Sprintf("198.18.%d.%d", n.index*subnets+subnet, last)
}

func (n *Network) subnet(subnet int) string { return n.at(subnet, 0) + "/24" }

func (n *Network) build(ctx context.Context, bridged bool, sides Sides) (err error) {
	if n.host, err = Create(ctx, fmt.Sprintf("host-%d", n.index)); err != nil {
		return err
	}
	if n.stores, err = Create(ctx, fmt.Sprintf("stores-%d", n.index)); err != nil {
		return err
	}
	n.wired = true
	if err := Wire(ctx, End{Device: n.usersDevice(), Addr: n.at(front, 1) + "/24"},
		End{In: n.host, Device: UsersLink, Addr: n.at(front, 2) + "/24"}); err != nil {
		return err
	}
	if err := Wire(ctx, End{In: n.host, Device: "stores", Addr: n.at(back, 1) + "/24"},
		End{In: n.stores, Device: "host", Addr: n.at(back, 2) + "/24"}); err != nil {
		return err
	}
	// Between users and stores only this program's own questions pass: is the database there, how
	// does it do.
	var own *Namespace
	if err := own.IP(ctx, "route", "add", n.subnet(back), "via", n.at(front, 2)); err != nil {
		return err
	}
	if err := n.stores.IP(ctx, "route", "add", n.subnet(front), "via", n.at(back, 1)); err != nil {
		return err
	}
	if err := n.host.Set(ctx, "net.ipv4.ip_forward", "1"); err != nil {
		return err
	}
	err = sides.steer(ctx, own, n.usersDevice(), n.host)
	if err == nil && bridged {
		err = n.bridge(ctx)
	}
	return err
}

// bridge attaches a namespace for the server to a bridge in host.
func (n *Network) bridge(ctx context.Context) (err error) {
	if n.server, err = Create(ctx, fmt.Sprintf("server-%d", n.index)); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"link", "add", "bridge", "type", "bridge"},
		{"addr", "add", n.at(inner, 1) + "/24", "dev", "bridge"},
		{"link", "set", "bridge", "up"},
	} {
		if err := n.host.IP(ctx, args...); err != nil {
			return err
		}
	}
	if err := Wire(ctx, End{
		In:     n.host,
		Device: "server",
	}, End{In: n.server, Device: "eth0", Addr: n.at(inner, 2) + "/24"}); err != nil {
		return err
	}
	if err := n.host.IP(ctx, "link", "set", "server", "master", "bridge"); err != nil {
		return err
	}
	return n.server.IP(ctx, "route", "add", "default", "via", n.at(inner, 1))
}

// rules translate addresses as container engines do: packets from users for the port go to the
// server, packets that the server sends elsewhere come from the host, and no others pass towards
// the server. The first two lines make them new.
const rules = `table ip plimsoll
delete table ip plimsoll
table ip plimsoll {
  chain prerouting { type nat hook prerouting priority dstnat; ip daddr %[1]s tcp dport %[2]d counter dnat to %[3]s:%[2]d; }
  chain postrouting { type nat hook postrouting priority srcnat; ip saddr %[4]s oifname != "bridge" counter masquerade; }
  chain forward {
    type filter hook forward priority filter; policy drop;
    oifname "bridge" ct state established,related accept
    oifname "bridge" ct status dnat accept
    iifname "bridge" oifname != "bridge" accept
    iifname "users" oifname "stores" accept
    iifname "stores" oifname "users" accept
  }
}
`

// Publish lets users reach a port of the server at [Network.Address]; without a bridge they do
// anyway. Another port that was published before is not any more.
func (n *Network) Publish(ctx context.Context, port int) error {
	if n.server == nil {
		return nil
	}
	text := fmt.Sprintf(rules, n.Address(), port, n.at(inner, 2), n.subnet(inner))
	if err := n.host.Run(ctx, text, "nft", "-f", "-"); err != nil {
		return fmt.Errorf("publishing port %d: %w", port, err)
	}
	return nil
}

// Server is the place where the server begins.
func (n *Network) Server() *Namespace {
	if n.server != nil {
		return n.server
	}
	return n.host
}

// Address returns the address where users find the server, bridged or not.
func (n *Network) Address() string { return n.at(front, 2) }

// Stores is the network namespace that the stores run in, for lab.Spec.NetNS, and the address that
// they listen on there.
func (n *Network) Stores() (path, addr string) { return n.stores.Path(), n.at(back, 2) }

// Names are the network namespaces, by their role, for people who want to look: ip netns exec NAME.
func (n *Network) Names() map[string]string {
	names := map[string]string{}
	for role, ns := range map[string]*Namespace{
		"host":   n.host,
		"stores": n.stores,
		"server": n.server,
	} {
		if ns != nil {
			names[role] = ns.Name()
		}
	}
	return names
}

// usersDevice is the users' end of their wire.
func (n *Network) usersDevice() string { return fmt.Sprintf("host-%d", n.index) }

// Close removes everything. The processes must have ended. It may be called again, and then tries
// again what failed.
func (n *Network) Close(ctx context.Context) error {
	var errs []error
	if n.wired {
		var own *Namespace
		err := own.unplug(ctx, n.usersDevice())
		errs, n.wired = append(errs, err), err != nil
	}
	for _, ns := range []**Namespace{&n.server, &n.stores, &n.host} {
		if *ns == nil {
			continue
		}
		if err := (*ns).Delete(ctx); err != nil {
			errs = append(errs, err)
		} else {
			*ns = nil
		}
	}
	return errors.Join(errs...)
}
