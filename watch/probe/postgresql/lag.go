package postgresql

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"plimsoll/watch/probe"
	"plimsoll/watch/series"
)

// A StandbyLag measures how far one streaming standby is behind its server, which it asks, so that
// it sees a standby that stands still, too. It is a probe.Probe with the series
//
//	plimsoll_replication_lag_seconds   time since the server was first beyond what the standby shows to readers
//	plimsoll_replication_lag_bytes     of the log, between the two
//
// Below two intervals of samples, seconds are those that the server measured last, if the standby
// is connected.
type StandbyLag struct {
	probe.Lag
	server *StatProbe // for its connection
	who    string
	last   time.Time // of the sample before, by the run's clock
}

// NewLag makes the probe of a standby. dsn is the server's, application the name by which that
// knows the standby (application_name). labels are as for [New].
func NewLag(dsn, application string, labels ...series.Label) (*StandbyLag, error) {
	s, err := New(dsn, labels...)
	if err != nil {
		return nil, err
	}
	return &StandbyLag{Lag: probe.NewLag("bytes", labels), server: s, who: application}, nil
}

// Close closes the connection.
func (p *StandbyLag) Close() error { return p.server.Close() }

const lagQuery = `SELECT (pg_current_wal_lsn() - '0/0')::float8,
	(SELECT max(replay_lsn - '0/0')::float8 FROM pg_stat_replication WHERE application_name = $1),
	(SELECT max(extract(epoch FROM replay_lag))::float8 FROM pg_stat_replication WHERE application_name = $1)`

// nearly is below how long a lag the server measures better.
const nearly = 2 * time.Second

// Sample asks the server. Until the standby was connected once there is no sample.
func (p *StandbyLag) Sample(ctx context.Context, t time.Time) ([]series.Sample, error) {
	var head float64
	var applied, measured pgtype.Float8
	if err := p.server.asking(ctx, func(ctx context.Context) error {
		return p.server.conn.QueryRow(ctx, lagQuery, p.who).Scan(&head, &applied, &measured)
	}); err != nil {
		return nil, err
	}
	p.Head(t, uint64(head))
	if applied.Valid {
		p.Applied(uint64(applied.Float64))
	}
	lag, distance, ok := p.Behind(t)
	most := nearly
	if !p.last.IsZero() {
		most = min(most, lag+t.Sub(p.last))
	}
	p.last = t
	if !ok {
		return nil, nil
	}
	seconds := lag.Seconds()
	if lag < nearly && distance > 0 && measured.Valid {
		// The server measures in real time, in which a duet pauses it: the lag by the run's clock
		// is at most an interval of samples longer than the one that the samples show.
		seconds = max(seconds, min(measured.Float64, most.Seconds()))
	}
	return p.Samples(seconds, distance), nil
}
