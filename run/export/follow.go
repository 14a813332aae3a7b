package export

import (
	"net/http"
	"sync"
	"time"

	"plimsoll/internal/boundary"
	"plimsoll/watch/series"
	"plimsoll/watch/series/promapi"
)

// A Follower keeps the series of a run open, and reopens them while another process writes them: a
// log can only be read from its beginning.
type Follower struct {
	dir    string
	mu     sync.RWMutex // held for reading while a request is answered
	DB     *series.DB
	opened time.Time
	took   time.Duration
}

// followPause is the least time between two readings of a log; one that takes long is read less
// often, so that it takes a tenth of a core at most.
const followPause = 5 * time.Second

// Follow opens the series in a directory. The caller calls Close.
func Follow(dir string) (*Follower, error) {
	f := &Follower{dir: dir}
	return f, f.open()
}

func (f *Follower) open() error {
	began := time.Now()
	db, err := series.Open(f.dir)
	if err != nil {
		return err
	}
	if f.DB != nil {
		err = f.DB.Close()
	}
	f.DB, f.opened, f.took = db, time.Now(), time.Since(began)
	return err
}

func (f *Follower) due() bool {
	return !f.DB.Sealed() && time.Since(f.opened) >= max(followPause, 10*f.took)
}

// Source is a promapi.Source.
func (f *Follower) Source() (*series.DB, func(), error) {
	f.mu.RLock()
	if !f.due() {
		return f.DB, f.mu.RUnlock, nil
	}
	f.mu.RUnlock()
	f.mu.Lock()
	if f.due() {
		// At the moment in which the run is sealed, neither log nor block may be readable: the old
		// state goes on.
		if f.open() != nil {
			f.opened = time.Now()
		}
	}
	f.mu.Unlock()
	f.mu.RLock()
	return f.DB, f.mu.RUnlock, nil
}

// Close closes the series. Sources that were handed out must have been released.
func (f *Follower) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = f.DB.Close()
}

// Stored returns the API over the series in a directory, for a server that checks hosts and people
// itself. The caller calls done when no request is under way any more.
func (a API) Stored(dir string) (api http.Handler, done func(), err error) {
	f, err := Follow(dir)
	if err != nil {
		return nil, nil, err
	}
	known := promapi.Handler(promapi.Config{
		Source:  f.Source,
		Version: a.Version,
		Known:   knownMetrics(),
	})
	return boundary.Handler(known, a.Panicked), f.Close, nil
}
