package study

import (
	"context"
	"errors"
	"net/url"
	"sync"
	"time"

	"plimsoll/target/lab"
	"plimsoll/target/lab/netns"
	"plimsoll/target/lab/postgresql"
)

// A Lab is a network of hosts that are network namespaces, with the programs that run on them.
type Lab struct {
	*netns.LAN
	Side *netns.Namespace // of the users; nil is the network of this program
	DB   *postgresql.Server

	mu        sync.Mutex
	processes []*lab.Process
}

// Database is the name of the database that [Lab.Serve] makes.
const Database = "chat"

// NewLab removes what killed programs have left, and makes the network; with a name for their side,
// users have a namespace of their own. The caller must call Down, also after an error.
func NewLab(ctx context.Context, side string, conf netns.LANConfig) (*Lab, error) {
	l := new(Lab)
	if _, err := netns.Sweep(ctx); err != nil {
		return l, err
	}
	var err error
	if side != "" {
		if l.Side, err = netns.Create(ctx, side); err != nil {
			return l, err
		}
		conf.Users = l.Side
	}
	l.LAN, err = netns.NewLAN(ctx, conf)
	return l, err
}

// Start starts a program on a host.
func (l *Lab) Start(ctx context.Context, host string, spec lab.Spec) (*lab.Process, error) {
	return l.StartIn(ctx, l.Host(host), spec)
}

// StartIn starts a program in a namespace.
func (l *Lab) StartIn(ctx context.Context, n *netns.Namespace, s lab.Spec) (*lab.Process, error) {
	s.NetNS = n.Path()
	p, err := lab.Start(ctx, s)
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.processes = append(l.processes, p)
	}
	return p, err
}

// Serve starts PostgreSQL on a host, with a database.
func (l *Lab) Serve(ctx context.Context, host string, conf postgresql.Config) (err error) {
	conf.NetNS = l.Host(host).Path()
	if l.DB, err = postgresql.Start(ctx, conf); err != nil {
		return err
	}
	return l.DB.CreateDatabase(ctx, Database)
}

// DSN is the address of the database by way of one of its host's addresses; "" is that on which it
// listens.
func (l *Lab) DSN(addr string) (string, error) {
	u, err := url.Parse(l.DB.DSN(Database))
	if err != nil {
		return "", errors.New("the database's address cannot be parsed")
	}
	if addr != "" {
		u.Host = addr + ":" + u.Port()
	}
	return u.String(), nil
}

// Down kills all programs and removes the network: nothing of them is kept.
func (l *Lab) Down(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
	defer cancel()
	var errs []error
	for _, p := range l.processes {
		errs = append(errs, p.Kill())
	}
	if l.DB != nil {
		ended, cancel := context.WithCancel(ctx)
		cancel() // at once: the data goes too
		errs = append(errs, l.DB.Stop(ended))
	}
	if l.LAN != nil {
		errs = append(errs, l.Close(ctx))
	}
	if l.Side != nil {
		errs = append(errs, l.Side.Delete(ctx))
	}
	return errors.Join(errs...)
}
