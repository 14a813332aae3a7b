package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"time"
)

// Defaults of a [StoreConfig].
const (
	DefaultSync    = 10 * time.Second // as Cassandra's commitlog_sync_period
	DefaultRefresh = time.Second      // as Elasticsearch's index.refresh_interval
)

// Kinds of own stores.
const (
	KindWide   = "wide"
	KindSearch = "search"
	KindBus    = "bus"
)

// StoreConfig configures an own store.
type StoreConfig struct {
	Kind   string        // KindWide, KindSearch or KindBus
	Listen string        // address; port 0 picks a free one
	Dir    string        // for its file; "" for a temporary directory
	Sync   time.Duration // interval of syncs to disk; 0 means each record at once
	// bytes that the file may have, beyond which the store is full; 0 means no limit
	Most int64
}

// An engine implements the operations of a store. handle appends its answer's fields to out; it is
// called by many goroutines.
type storeEngine interface {
	handle(op byte, f *fields, out []byte) ([]byte, error)
	// tick is called about twice a second.
	tick(now time.Time) error
	close() error
}

// A Store is a small store of its own process, in the place of Cassandra, OpenSearch or Kafka. Make
// it with [NewStore], then call [Store.Run] once.
type Store struct {
	ln     net.Listener
	engine storeEngine
	dir    string // to remove
	mu     sync.Mutex
	conns  map[net.Conn]struct{} // nil once closed
	wg     sync.WaitGroup
}

// NewStore opens the store's file and its listener.
func NewStore(ctx context.Context, cfg StoreConfig) (s *Store, err error) {
	s = &Store{conns: map[net.Conn]struct{}{}}
	if cfg.Sync < 0 || cfg.Most < 0 {
		return nil, errors.New("sync and the most bytes are 0 or more")
	}
	if cfg.Dir == "" {
		if s.dir, err = os.MkdirTemp("", "newsfeed-"+cfg.Kind+"-"); err != nil {
			return nil, fmt.Errorf("making a directory: %w", err)
		}
		cfg.Dir = s.dir
	}
	switch cfg.Kind {
	case KindWide:
		s.engine, err = newWideEngine(cfg)
	case KindSearch:
		s.engine, err = newSearchEngine(cfg)
	case KindBus:
		s.engine, err = newBusEngine(cfg)
	default:
		err = fmt.Errorf("kind %q: want %s, %s or %s", cfg.Kind, KindWide, KindSearch, KindBus)
	}
	if err != nil {
		s.remove()
		return nil, err
	}
	var lc net.ListenConfig
	if s.ln, err = lc.Listen(ctx, "tcp", cfg.Listen); err != nil {
		s.engine.close()
		s.remove()
		return nil, fmt.Errorf("listening: %w", err)
	}
	return s, nil
}

func (s *Store) remove() {
	if s.dir != "" {
		os.RemoveAll(s.dir)
	}
}

// Addr is the address that the store listens on, host:port.
func (s *Store) Addr() string { return s.ln.Addr().String() }

// Run serves until ctx ends, or until its file can no longer be forced to disk, and closes the
// store.
func (s *Store) Run(ctx context.Context) error {
	defer s.remove()
	failed := make(chan error, 2)
	s.wg.Go(func() { failed <- s.accept() })
	t := time.NewTicker(DefaultRefresh / 2)
	defer t.Stop()
	var err error
	for done := false; !done; {
		select {
		case <-ctx.Done():
			done = true
		case err = <-failed:
			done = true
		case now := <-t.C:
			err = s.engine.tick(now)
			done = err != nil
		}
	}
	s.ln.Close()
	s.mu.Lock()
	for c := range s.conns {
		c.Close()
	}
	s.conns = nil
	s.mu.Unlock()
	s.wg.Wait()
	return errors.Join(err, s.engine.close())
}

func (s *Store) accept() error {
	for {
		c, err := s.ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accepting: %w", err)
		}
		s.mu.Lock()
		if s.conns == nil {
			c.Close()
		} else {
			s.conns[c] = struct{}{}
			s.wg.Go(func() { s.serve(c) })
		}
		s.mu.Unlock()
	}
}

// serve answers one connection's frames until it ends, or is silent for ten minutes.
func (s *Store) serve(c net.Conn) {
	defer func() {
		c.Close()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
		if v := recover(); v != nil { // of one connection; the others go on
			fmt.Fprintf(
				os.Stderr,
				"store: panic serving %v: %v\n%s",
				c.RemoteAddr(),
				v,
				debug.Stack(),
			)
		}
	}()
	r := bufio.NewReader(c)
	var in, out []byte
	for {
		if c.SetDeadline(time.Now().Add(10*time.Minute)) != nil {
			return
		}
		body, err := readFrame(r, in)
		if err != nil {
			return
		}
		in = body
		f := &fields{b: body[1:]}
		out, err = s.engine.handle(body[0], f, newFrame(out, codeOK))
		switch {
		case errors.Is(err, errFull):
			out = newFrame(out, codeFull)
		case err != nil:
			out = appendText(newFrame(out, codeBad), err.Error())
		}
		if out, err = seal(out); err != nil {
			return
		}
		if _, err := c.Write(out); err != nil {
			return
		}
	}
}
