package series

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/storage"
)

// nameLabel is the label that has the name of a metric.
const nameLabel = "__name__"

// A Label is a name and value that distinguishes series of one metric.
type Label struct{ Name, Value string }

// A Sample is one value of one series; its time is that of the batch. Labels need no order; an
// empty value is the same as no label. A name may occur once.
type Sample struct {
	Name   string // the metric, for example node_cpu_seconds_total; seconds and bytes are the units
	Labels []Label
	Value  float64
}

// Samples are collected one by one.
type Samples []Sample

// Add adds one. The labels belong to it, and may belong to others.
func (b *Samples) Add(name string, labels []Label, v float64) {
	*b = append(*b, Sample{Name: name, Labels: labels, Value: v})
}

// AppendKey appends the sample's series in the notation of PromQL, for example
// plimsoll_cpu_busy_ratio{role="target"}, to buf and returns it. Labels keep the order they have.
func (s *Sample) AppendKey(buf []byte) []byte {
	buf = append(buf, s.Name...)
	before := byte('{')
	for _, l := range s.Labels {
		buf = append(buf, before)
		before = ','
		buf = append(buf, l.Name...)
		buf = append(buf, '=', '"')
		buf = append(buf, l.Value...)
		buf = append(buf, '"')
	}
	if len(s.Labels) > 0 {
		buf = append(buf, '}')
	}
	return buf
}

// RejectedError is the reason why a batch was not stored: its time does not lie after the last
// sample of some series, or a series occurs twice in it. Nothing of the batch was stored.
type RejectedError struct {
	OutOfOrder int    // samples at or before the last one of their series
	Duplicate  int    // samples whose series had occurred before in the same batch
	Of         int    // samples in the batch
	First      string // the first series concerned
}

func (e *RejectedError) Error() string {
	return fmt.Sprintf(
		"batch of %d samples not stored: %d at or before the last time of their series, %d twice in the batch; first is %s",
		e.Of,
		e.OutOfOrder,
		e.Duplicate,
		e.First,
	)
}

// entry is the writer's record of one series.
type entry struct {
	ref   storage.SeriesRef // in the head of a span; 0 before the first sample
	span  int               // the span's number: the span itself would stay in memory
	lset  labels.Labels
	last  int64  // time of the last stored sample, ms
	batch uint64 // the batch it last occurred in
}

type point struct {
	e *entry
	v float64
}

// limits are the bounds of a writer; see the constants of the same names.
type limits struct{ series, scraped, sourceSeries, sourceBytes, samples int }

// source is the state of one source of expositions.
type source struct {
	texts map[string]*entry // by text as exposed: a cache
	held  int               // bytes of those texts
	made  int               // series that this source was the first to have
	bytes int               // of their labels
}

// writer resolves the name and labels of a sample to a series, cheaply if they are known.
type writer struct {
	mu      sync.Mutex
	max     limits
	series  map[string]*entry  // by canonical labels
	samples map[string]*entry  // by name and labels as given to Append
	sources map[string]*source // by extra labels and format
	scraped int                // of series, those that a source was the first to have
	batch   uint64
	points  []point // scratch of the batch at hand
	key     []byte
	names   []string
	body    []byte

	now     *span          // takes the appends; changed with DB.parts locked too
	every   time.Duration  // sample time from one cut to the next
	due     int64          // the sample time of the next cut, ms; 0 before the first batch
	cuts    sync.WaitGroup // the cut under way
	cutting bool           // it is under way
	failed  int            // cuts in a row that failed
	failure error          // of the last cut
	stuck   func(error)    // see OnStuck; may be nil

	veil veil // see Redact
}

func newWriter() *writer {
	return &writer{
		max:     limits{MaxSeries, MaxScraped, MaxSourceSeries, MaxSourceBytes, MaxSamples},
		series:  map[string]*entry{},
		samples: map[string]*entry{},
		sources: map[string]*source{},
		every:   cutEvery,
	}
}

// begin locks the writer and starts a batch.
func (db *DB) begin() (*writer, error) {
	db.life.RLock()
	switch {
	case db.closed:
		db.life.RUnlock()
		return nil, ErrClosed
	case db.write == nil:
		db.life.RUnlock()
		return nil, ErrReadOnly
	}
	w := db.write
	w.mu.Lock()
	w.batch++
	w.points = w.points[:0]
	return w, nil
}

func (db *DB) end(w *writer) {
	w.mu.Unlock()
	db.life.RUnlock()
}

// Append stores one batch of samples at time t (kept in milliseconds), all or none. A series' first
// sample, and that after each cut, costs some microseconds and allocations, others well under one
// and none.
func (db *DB) Append(t time.Time, samples []Sample) error {
	w, err := db.begin()
	if err != nil {
		return err
	}
	defer db.end(w)
	for i := range samples {
		s := &samples[i]
		w.key = appendRaw(w.key[:0], s)
		e := w.samples[string(w.key)]
		if e == nil {
			lset, err := sampleLabels(s)
			if err == nil {
				if e, err = w.resolve(w.veil.labels(lset), nil); err != nil {
					w.veil.forget()
				}
			}
			if err != nil {
				return fmt.Errorf(
					"batch of %d samples not stored: sample %d: %w",
					len(samples),
					i,
					err,
				)
			}
			if len(w.samples) >= w.max.series {
				clear(w.samples)
			}
			w.samples[string(w.key)] = e
		}
		w.points = append(w.points, point{e, s.Value})
	}
	return db.commit(w, t)
}

// AppendText stores the text that an endpoint exposed, in the Prometheus text format or OpenMetrics
// according to contentType (the response header; empty means text format), as one batch at time t,
// and returns how many samples that were. Classic histograms and summaries become their _bucket,
// _sum, _count and quantile series. The labels in extra are added to every series; where the
// exposition has a label of that name, its own is renamed to exported_NAME. Of a series that occurs
// more than once the first sample is stored, as Prometheus does. An exposition with any other
// mistake, or beyond one of the limits of this package, is refused whole. body is not kept.
func (db *DB) AppendText(
	t time.Time,
	body []byte,
	contentType string,
	extra map[string]string,
) (n int, err error) {
	w, err := db.begin()
	if err != nil {
		return 0, err
	}
	defer db.end(w)
	if err := w.parse(body, contentType, extra); err != nil {
		return 0, fmt.Errorf("exposition not stored: %w", err)
	}
	w.unique()
	if err := db.commit(w, t); err != nil {
		return 0, err
	}
	return len(w.points), nil
}

// parse reads an exposition into w.points.
func (w *writer) parse(body []byte, contentType string, extra map[string]string) error {
	format := "text/plain"
	if contentType != "" {
		m, _, err := mime.ParseMediaType(contentType)
		if err != nil {
			return fmt.Errorf("content type %q: %w", contentType, err)
		}
		if m != "text/plain" && m != "application/openmetrics-text" {
			return fmt.Errorf(
				"content type %q is neither the Prometheus text format nor OpenMetrics",
				contentType,
			)
		}
		format = m
	}
	from := w.source(format, extra)

	// The parser writes a line feed behind the text it is given, and the caller's bytes must not be
	// changed.
	w.body = append(append(w.body[:0], body...), '\n')
	p, err := textparse.New(w.body[:len(body)], format, nil, textparse.ParserOptions{})
	if err != nil {
		return err
	}
	for {
		kind, err := p.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("sample %d: %w", len(w.points)+1, err)
		}
		if kind == textparse.EntryHistogram {
			return errors.New("native histograms are not supported")
		}
		if kind != textparse.EntrySeries {
			continue
		}
		if len(w.points) >= w.max.samples {
			return fmt.Errorf("more than %d samples on one page", w.max.samples)
		}
		text, _, v := p.Series()
		e := from.texts[string(text)]
		if e == nil {
			var lset labels.Labels
			p.Labels(&lset)
			lset, err := withExtra(w.veil.labels(lset), extra)
			if err == nil {
				e, err = w.resolve(lset, from)
			}
			if err != nil {
				w.veil.forget()
				return fmt.Errorf("series %s: %w", clip(text), err)
			}
			from.remember(text, e, w.max)
		}
		w.points = append(w.points, point{e, v})
	}
}

// unique drops every point of the batch whose series an earlier point has.
func (w *writer) unique() {
	w.points = slices.DeleteFunc(w.points, func(p point) bool {
		again := p.e.batch == w.batch
		p.e.batch = w.batch
		return again
	})
	w.batch++ // commit marks the series once more
}

// remember stores the text under which a source exposes a series. One series may have many
// spellings, so the kept texts have a limit of their own.
func (f *source) remember(text []byte, e *entry, most limits) {
	if len(text) > 2*MaxLabelBytes {
		return
	}
	if len(f.texts) >= most.sourceSeries || f.held+len(text) > most.sourceBytes {
		clear(f.texts)
		f.held = 0
	}
	f.texts[string(bytes.Clone(text))] = e
	f.held += len(text)
}

// source returns the state of the source with one format and set of extra labels.
func (w *writer) source(format string, extra map[string]string) *source {
	w.names = slices.AppendSeq(w.names[:0], maps.Keys(extra))
	slices.Sort(w.names)
	k := append(w.key[:0], format...)
	for _, n := range w.names {
		k = appendPair(k, n, extra[n])
	}
	w.key = k
	f := w.sources[string(k)]
	if f == nil {
		f = &source{texts: map[string]*entry{}}
		w.sources[string(k)] = f
	}
	return f
}

// resolve returns the one entry of a set of labels, which a source exposed, or nil for none.
func (w *writer) resolve(lset labels.Labels, from *source) (*entry, error) {
	if err := check(lset); err != nil {
		return nil, err
	}
	id := string(lset.Bytes(nil))
	if e := w.series[id]; e != nil {
		return e, nil
	}
	const why = "something puts an unbounded value into a label"
	if len(w.series) >= w.max.series {
		return nil, fmt.Errorf("more than %d different series in one run; %s", w.max.series, why)
	}
	if from != nil {
		switch {
		case from.made >= w.max.sourceSeries:
			return nil, fmt.Errorf(
				"more than %d different series of one source in one run; %s",
				w.max.sourceSeries,
				why,
			)
		case from.bytes+len(id) > w.max.sourceBytes:
			return nil, fmt.Errorf(
				"labels of more than %d bytes in the series of one source in one run; %s",
				w.max.sourceBytes,
				why,
			)
		case w.scraped >= w.max.scraped:
			return nil, fmt.Errorf(
				"more than %d different series of all scraped pages in one run; %s",
				w.max.scraped,
				why,
			)
		}
		from.made++
		from.bytes += len(id)
		w.scraped++
	}
	e := &entry{lset: lset}
	w.series[id] = e
	return e, nil
}

// commit stores w.points at t, all or none.
func (db *DB) commit(w *writer, t time.Time) error {
	ms := t.UnixMilli()
	var bad RejectedError
	for i := range w.points {
		e := w.points[i].e
		switch {
		case e.batch == w.batch:
			bad.Duplicate++
		case e.ref != 0 && ms <= e.last:
			bad.OutOfOrder++
		default:
			e.batch = w.batch
			continue
		}
		if bad.First == "" {
			bad.First = e.lset.String()
		}
	}
	if bad.First != "" {
		bad.Of = len(w.points)
		return &bad
	}
	app := w.now.head.Appender(context.Background())
	for i := range w.points {
		e := w.points[i].e
		ref := e.ref
		if e.span != w.now.n {
			ref = 0 // each head has its own
		}
		ref, err := app.Append(ref, e.lset, ms, w.points[i].v)
		if err != nil {
			err = fmt.Errorf("batch of %d samples not stored: %s: %w", len(w.points), e.lset, err)
			return errors.Join(err, app.Rollback())
		}
		e.ref, e.span = ref, w.now.n
	}
	if err := app.Commit(); err != nil {
		return fmt.Errorf("batch of %d samples not stored: %w", len(w.points), err)
	}
	for i := range w.points {
		w.points[i].e.last = ms
	}
	if len(w.points) > 0 {
		db.cut(w, ms)
	}
	if db.tap != nil {
		db.tap(time.UnixMilli(ms), len(w.points), w.stored)
	}
	return nil
}

// stored yields the batch at hand.
func (w *writer) stored(yield func(labels.Labels, float64) bool) {
	for i := range w.points {
		if !yield(w.points[i].e.lset, w.points[i].v) {
			return
		}
	}
}

// appendRaw appends the identity of a sample, unambiguous because 0xff is not part of UTF-8 text.
func appendRaw(buf []byte, s *Sample) []byte {
	buf = append(buf, s.Name...)
	for _, l := range s.Labels {
		buf = appendPair(buf, l.Name, l.Value)
	}
	return buf
}

func appendPair(buf []byte, name, value string) []byte {
	buf = append(append(buf, 0xff), name...)
	return append(append(buf, 0xff), value...)
}

func sampleLabels(s *Sample) (labels.Labels, error) {
	b := labels.NewScratchBuilder(len(s.Labels) + 1)
	b.Add(nameLabel, s.Name)
	for _, l := range s.Labels {
		if l.Name == nameLabel {
			return labels.EmptyLabels(), fmt.Errorf("sample %q has a label %q", s.Name, l.Name)
		}
		if l.Value != "" {
			b.Add(l.Name, l.Value)
		}
	}
	b.Sort()
	return b.Labels(), nil
}

// withExtra adds extra to lset as Prometheus does for labels of a scrape target.
func withExtra(lset labels.Labels, extra map[string]string) (labels.Labels, error) {
	if n, dup := lset.HasDuplicateLabelNames(); dup {
		return lset, fmt.Errorf("label %q occurs twice", n)
	}
	b := labels.NewBuilder(lset)
	for n := range extra {
		if n == nameLabel {
			return lset, fmt.Errorf("extra label %q would rename the metric", n)
		}
		if own := lset.Get(n); own != "" {
			b.Set("exported_"+n, own)
		}
	}
	for n, v := range extra {
		b.Set(n, v)
	}
	return b.Labels(), nil
}

// check refuses labels that cannot be stored or queried.
func check(lset labels.Labels) error {
	name := lset.Get(nameLabel)
	if name == "" {
		return errors.New("metric has no name")
	}
	if n, dup := lset.HasDuplicateLabelNames(); dup {
		return fmt.Errorf("metric %.120q: label %q occurs twice", name, n)
	}
	size := 0
	lset.Range(func(l labels.Label) { size += len(l.Name) + len(l.Value) })
	switch n := lset.Len() - 1; {
	case n > MaxLabels:
		return fmt.Errorf("metric %.120q has %d labels; want at most %d", name, n, MaxLabels)
	case size > MaxLabelBytes:
		return fmt.Errorf(
			"metric %.120q has labels of %d bytes; want at most %d",
			name,
			size,
			MaxLabelBytes,
		)
	}
	return lset.Validate(func(l labels.Label) error {
		switch {
		case l.Name == "":
			return fmt.Errorf("metric %q: a label has no name", name)
		case !utf8.ValidString(l.Name), !utf8.ValidString(l.Value):
			return fmt.Errorf("metric %q: label %q is not UTF-8", name, l.Name)
		case strings.ContainsRune(l.Name, 0):
			return fmt.Errorf("metric %q: label %q holds a zero byte", name, l.Name)
		}
		return nil
	})
}

func clip(b []byte) string {
	if len(b) > 120 {
		return fmt.Sprintf("%.120q...", b)
	}
	return fmt.Sprintf("%q", b)
}
