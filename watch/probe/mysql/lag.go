package mysql

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"plimsoll/watch/probe"
	"plimsoll/watch/series"
)

// lagPatience bounds the wait for a mirror, which may stand still, so that the server is asked in
// time.
const lagPatience = 300 * time.Millisecond

// A MirrorLag measures how far one MariaDB that repeats another's changes is behind it, by their
// global transaction ids. A mirror that does not answer has what it had. It is a probe.Probe with
// the series
//
//	plimsoll_replication_lag_seconds        time since the server was first beyond what the mirror shows to readers
//	plimsoll_replication_lag_transactions   between the two
//
// Seconds are as coarse as the interval of samples.
type MirrorLag struct {
	probe.Lag
	server, mirror *StatusProbe // for their connections
}

// NewLag makes the probe of a mirror by the DSNs of the server and of the mirror. labels are as for
// [New].
func NewLag(dsn, mirror string, labels ...series.Label) (*MirrorLag, error) {
	s, err := New(dsn, labels...)
	if err != nil {
		return nil, err
	}
	m, err := New(mirror, labels...)
	if err != nil {
		_ = s.Close() // it was never open
		return nil, err
	}
	return &MirrorLag{probe.NewLag("transactions", labels), s, m}, nil
}

// Close closes the connections.
func (p *MirrorLag) Close() error { return cmp.Or(p.server.Close(), p.mirror.Close()) }

// Sample asks both. Until the mirror has answered once there is no sample.
func (p *MirrorLag) Sample(ctx context.Context, t time.Time) ([]series.Sample, error) {
	head, err := position(ctx, p.server, "gtid_binlog_pos")
	if err != nil {
		return nil, fmt.Errorf("asking MariaDB: %w", plain(err))
	}
	p.Head(t, head)
	short, cancel := context.WithTimeout(ctx, lagPatience)
	defer cancel()
	if at, err := position(short, p.mirror, "gtid_slave_pos"); err == nil {
		p.Applied(at)
	}
	lag, distance, ok := p.Behind(t)
	if !ok {
		return nil, nil
	}
	return p.Samples(lag.Seconds(), distance), nil
}

// position reads a global transaction id and returns its number.
func position(ctx context.Context, p *StatusProbe, variable string) (uint64, error) {
	var text string
	if err := p.db.QueryRowContext(ctx, "SELECT @@GLOBAL."+variable).Scan(&text); err != nil {
		return 0, err
	}
	return newest(text), nil
}

// newest returns the largest number of a list of global transaction ids, DOMAIN-SERVER-NUMBER with
// commas between; 0 for none.
func newest(list string) (most uint64) {
	for id := range strings.SplitSeq(list, ",") {
		if n, err := strconv.ParseUint(id[strings.LastIndexByte(id, '-')+1:], 10, 64); err == nil {
			most = max(most, n)
		}
	}
	return most
}
