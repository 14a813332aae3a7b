package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strconv"

	"plimsoll/target"
	"plimsoll/target/lab"
)

// proxyRole is the role of the proxy before the instances.
const proxyRole = "proxy"

// A front has the addresses of the proxy before the instances; the zero value is none.
type front struct {
	listen string // host:port; kept over resets
	url    string // of users
}

// chooseFront gives the proxy its address, if there is one.
func (d *deployment) chooseFront() error {
	if d.conf.Proxy == nil {
		return nil
	}
	port, err := lab.FreePort()
	if err != nil {
		return err
	}
	listen := net.JoinHostPort(cmp.Or(d.conf.ProxyHost, loopback), strconv.Itoa(port))
	swap(d, &d.front, front{listen: listen, url: "http://" + listen})
	return nil
}

// startProxy starts the proxy before the instances, which are ready.
func (d *deployment) startProxy(ctx context.Context) error {
	if d.conf.Proxy == nil {
		return nil
	}
	var upstreams []string
	for _, in := range d.instances {
		u, err := url.Parse(in.URL)
		if err != nil {
			return errors.New("the URL of an instance cannot be parsed")
		}
		upstreams = append(upstreams, u.Host)
	}
	p, err := d.conf.Proxy(
		ctx,
		filepath.Join(d.spec.Dir, proxyRole),
		d.spec.CPUs,
		d.front.listen,
		upstreams,
	)
	if err != nil {
		if portInUse(err.Error()) {
			return &portError{err}
		}
		return err
	}
	swap(d, &d.proxy, p)
	return d.started(proxyRole, p.PIDs()...)
}

// stopProxy stops the proxy, before the instances, so that it passes on no request to one that has
// gone.
func (d *deployment) stopProxy(ctx context.Context) error {
	p := swap(d, &d.proxy, nil)
	if p == nil {
		return nil
	}
	if err := p.Stop(ctx); err != nil {
		return fmt.Errorf("stopping the proxy: %w", err)
	}
	return nil
}

// Proxy returns the proxy before the instances; nil without one, or while it is stopped. It changes
// at Reset.
func (d *deployment) Proxy() target.Companion { return d.running().proxy }
