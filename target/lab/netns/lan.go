package netns

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Devices of the hosts of a [LAN].
const (
	HostDevice  = "eth0"  // of each host, on the network
	WatchDevice = "watch" // of each host, on the network of probes
	UsersDevice = "users" // of the users' side, when that is a namespace of its own
)

// A LAN is network namespaces on one switch, as hosts of a data center would be:
//
//	users ────┐           ┌──── app-0
//	          ├─ switch ──┼──── app-1
//	          │           └──── db-0
//
// The switch is a bridge in a namespace of its own, and each link a veth pair. Every host has
// counters and kernel settings of its own. The kernel begins a namespace with its defaults
// (net.core.somaxconn), except for net.ipv4.tcp_rmem, tcp_wmem, tcp_congestion_control and
// net.ipv4.conf, which it copies from the machine's first namespace. There is no way to any other
// network. Methods that do not change it may be called by several goroutines.
type LAN struct {
	conf  LANConfig
	hub   *Namespace // has the switch
	wired []string   // devices of the users' side
	hosts map[string]*Namespace
}

// A LANConfig configures a [LAN]. Hosts is required.
type LANConfig struct {
	// Index makes names and addresses its own among the LANs of this program, from 0 to
	// MostNetworks-1.
	Index int
	// Hosts are names of at most 11 letters, digits and dashes, in the order of their addresses; at
	// most 200.
	Hosts []string
	// Users is the side of the users; nil is the network of this program, which must then be one of
	// its own, see NewNetwork.
	Users *Namespace
	// Links are the limits of the links by host; the users' link is under UsersLink.
	Links map[string]Shaping
	// Sides are the cores that work on packets.
	Sides Sides
	// Watched adds a second network with the same hosts, over which probes reach them when
	// something is done to the first.
	Watched bool
}

// UsersLink is the key of LANConfig.Links for the link of the users.
const UsersLink = "users"

// mostHosts is the most hosts of a LAN, and firstHost the last number of the first one's address;
// that of the users is 1.
const (
	mostHosts = 200
	firstHost = 11
)

// NewLAN makes the hosts and their switch. The caller must call Close.
func NewLAN(ctx context.Context, conf LANConfig) (*LAN, error) {
	if conf.Index < 0 || conf.Index >= MostNetworks {
		return nil, fmt.Errorf("network %d: there are at most %d", conf.Index, MostNetworks)
	}
	if n := len(conf.Hosts); n == 0 || n > mostHosts {
		return nil, fmt.Errorf("a network of %d hosts; want 1 to %d", n, mostHosts)
	}
	l := &LAN{conf: conf, hosts: map[string]*Namespace{}}
	if err := l.build(ctx); err != nil {
		return nil, errors.Join(
			fmt.Errorf("making the network of the hosts: %w", err),
			l.Close(context.WithoutCancel(ctx)),
		)
	}
	return l, nil
}

func (l *LAN) build(ctx context.Context) (err error) {
	if l.hub, err = Create(ctx, l.nameOf("switch")); err != nil {
		return err
	}
	if err := l.bridge(ctx, "lan"); err != nil {
		return err
	}
	if l.conf.Watched {
		if err := l.bridge(ctx, "watch"); err != nil {
			return err
		}
	}
	if err := l.connect(ctx, l.conf.Users, UsersLink, l.usersDevice(), 1); err != nil {
		return err
	}
	for i, host := range l.conf.Hosts {
		if l.hosts[host] != nil {
			return fmt.Errorf("two hosts are named %s", host)
		}
		n, err := Create(ctx, l.nameOf(host))
		if err != nil {
			return err
		}
		l.hosts[host] = n
		if err := l.connect(ctx, n, host, HostDevice, firstHost+i); err != nil {
			return fmt.Errorf("host %s: %w", host, err)
		}
	}
	return l.conf.Sides.steer(ctx, l.conf.Users, l.usersDevice(), l.hub)
}

// nameOf names a namespace among those of this program.
func (l *LAN) nameOf(host string) string { return fmt.Sprintf("lan%d-%s", l.conf.Index, host) }

// usersDevice is the users' end of their link. That of this program has a number, since there may
// be several.
func (l *LAN) usersDevice() string {
	if l.conf.Users == nil {
		return fmt.Sprintf("lan%d", l.conf.Index)
	}
	return UsersDevice
}

// The subnets: of the hosts, and of probes.
const (
	lanSubnet   = 0
	watchSubnet = 3
)

func (l *LAN) at(subnet, last int) string {
	return fmt.Sprintf("198.18.%d.%d", l.conf.Index*subnets+subnet, last)
}

// bridge makes a switch.
func (l *LAN) bridge(ctx context.Context, name string) error {
	return errors.Join(
		l.hub.IP(ctx, "link", "add", name, "type", "bridge"),
		l.hub.IP(ctx, "link", "set", name, "up"),
	)
}

// connect links a namespace to the switch, and limits the link.
func (l *LAN) connect(ctx context.Context, n *Namespace, port, device string, last int) error {
	if err := l.plug(ctx, n, port, device, "lan", l.at(lanSubnet, last)); err != nil {
		return err
	}
	if link := l.conf.Links[port]; link != (Shaping{}) {
		if err := errors.Join(n.limit(ctx, device, link), l.hub.limit(ctx, port, link)); err != nil {
			return err
		}
	}
	if !l.conf.Watched {
		return nil
	}
	return l.plug(ctx, n, "w-"+port, WatchDevice, "watch", l.at(watchSubnet, last))
}

func (l *LAN) plug(ctx context.Context, n *Namespace, port, device, bridge, addr string) error {
	if n == l.conf.Users {
		l.wired = append(l.wired, device)
	}
	if err := Wire(ctx, End{
		In:     n,
		Device: device,
		Addr:   addr + "/24",
	}, End{In: l.hub, Device: port}); err != nil {
		return err
	}
	return l.hub.IP(ctx, "link", "set", port, "master", bridge)
}

// Hosts returns the names of the hosts in the order of their addresses.
func (l *LAN) Hosts() []string { return slices.Clone(l.conf.Hosts) }

// Host returns the namespace of a host; nil if there is none of that name.
func (l *LAN) Host(name string) *Namespace { return l.hosts[name] }

// Addr returns the address of a host; "" if there is none of that name.
func (l *LAN) Addr(name string) string { return l.addr(lanSubnet, name) }

// WatchAddr returns the address of a host for probes; "" unless the LAN is Watched.
func (l *LAN) WatchAddr(name string) string {
	if !l.conf.Watched {
		return ""
	}
	return l.addr(watchSubnet, name)
}

func (l *LAN) addr(subnet int, name string) string {
	i := slices.Index(l.conf.Hosts, name)
	if i < 0 {
		return ""
	}
	return l.at(subnet, firstHost+i)
}

// WatchUsersAddr returns the address of the users for probes; "" unless the LAN is Watched.
func (l *LAN) WatchUsersAddr() string {
	if !l.conf.Watched {
		return ""
	}
	return l.at(watchSubnet, 1)
}

// UsersAddr returns the address of the users.
func (l *LAN) UsersAddr() string { return l.at(lanSubnet, 1) }

// Close removes everything but the users' namespace. The processes in it must have ended. It may be
// called again, and then tries again what failed.
func (l *LAN) Close(ctx context.Context) error {
	var errs []error
	l.wired = slices.DeleteFunc(l.wired, func(device string) bool {
		err := l.conf.Users.unplug(ctx, device)
		errs = append(errs, err)
		return err == nil
	})
	for _, host := range slices.Sorted(maps.Keys(l.hosts)) {
		if err := l.hosts[host].Delete(ctx); err != nil {
			errs = append(errs, err)
			continue
		}
		delete(l.hosts, host)
	}
	if l.hub != nil {
		if err := l.hub.Delete(ctx); err != nil {
			errs = append(errs, err)
		} else {
			l.hub = nil
		}
	}
	return errors.Join(errs...)
}
