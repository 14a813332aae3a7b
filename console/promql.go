package console

import (
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/record"
)

const (
	// mostOpen is the largest number of runs whose series are open for PromQL: the series of a run
	// under way take memory.
	mostOpen = 4
	// openFor is the time that series stay open without a request.
	openFor = time.Minute
)

// SeriesAPI returns the Prometheus HTTP API over the series in a directory. The caller calls done
// when no request is under way any more.
type SeriesAPI func(dir string) (api http.Handler, done func(), err error)

// opened are the runs whose series are open. Its methods are safe for concurrent use.
type opened struct {
	open SeriesAPI // nil: this server has none

	mu  sync.Mutex
	by  map[string]*openedRun // by directory
	end bool
}

type openedRun struct {
	once sync.Once // opens it
	api  http.Handler
	done func()
	err  error
	uses int
	used time.Time // when the last use ended
}

func newOpened(open SeriesAPI) *opened { return &opened{open: open, by: map[string]*openedRun{}} }

// take returns the API of a directory for one request; the caller calls release.
func (o *opened) take(dir string) (api http.Handler, release func(), err error) {
	o.mu.Lock()
	if o.end {
		o.mu.Unlock()
		return nil, nil, http.ErrServerClosed
	}
	r := o.by[dir]
	if r == nil {
		r = new(openedRun)
		o.by[dir] = r
	}
	r.uses++
	o.mu.Unlock()
	release = func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		r.uses--
		r.used = time.Now()
		if r.err != nil && o.by[dir] == r {
			delete(o.by, dir) // the next request tries again
		}
		o.tidy(time.Now())
	}
	r.once.Do(func() { r.api, r.done, r.err = o.open(dir) })
	if r.err != nil {
		release()
		return nil, nil, r.err
	}
	return r.api, release, nil
}

// tidy closes series that nobody has used for long, of more than mostOpen those whose last use is
// the oldest, and after the end all that are not in use. o.mu is held.
func (o *opened) tidy(now time.Time) {
	most := mostOpen
	if o.end {
		most = 0
	}
	for {
		oldest, idle := "", 0
		for dir, r := range o.by {
			if r.uses > 0 {
				continue
			}
			idle++
			if oldest == "" || r.used.Before(o.by[oldest].used) {
				oldest = dir
			}
		}
		if idle == 0 || len(o.by) <= most && now.Sub(o.by[oldest].used) < openFor {
			return
		}
		if r := o.by[oldest]; r.done != nil {
			r.done()
		}
		delete(o.by, oldest)
	}
}

// look closes series that nobody has used for long.
func (o *opened) look(now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tidy(now)
}

// close closes all series that are not in use; no more are opened, and those in use close with
// their release.
func (o *opened) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.end = true
	o.tidy(time.Now())
}

// prometheus answers PromQL over the series of a run, as plimsoll serve -prometheus does. It
// refuses queries by POST, which is the method of requests that change something.
func (s *Console) prometheus(w http.ResponseWriter, r *http.Request, run *record.Run) {
	api, release, err := s.opened.take(filepath.Join(run.Dir, record.SeriesDir))
	if err != nil {
		refuse(w, http.StatusNotFound, "the run has no series that can be read: "+plain.Error(err))
		return
	}
	defer release()
	inner := r.Clone(r.Context())
	inner.URL.Path, inner.URL.RawPath = "/"+r.PathValue("path"), ""
	api.ServeHTTP(w, inner)
}
