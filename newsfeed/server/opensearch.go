package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// mostAnswer is the longest answer that is read, in bytes: a page of hits fits.
const mostAnswer = 16 << 20

// openSearchIndex is the index of the stories: one shard without copies, refreshed every second
// with or without searches, so that all runs pay for it alike. Subjects are not indexed. Settings
// that decide the cost of a write stay at the server's default.
const openSearchIndex = `{
"settings": {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "1s"},
"mappings": {"dynamic": "strict", "properties": {"sender": {"type": "long"}, "at": {"type": "long"}, "story": {"type": "text"}}}}`

// openSearchClient is the client of OpenSearch, by its HTTP interface. Safe for concurrent use.
type openSearchClient struct {
	root, index    string
	user, password string
	http           *http.Client
	ready          atomic.Bool // the index is there
	last           atomic.Int64
}

func newOpenSearch(a address) *openSearchClient {
	return &openSearchClient{
		root: a.scheme + "://" + a.hosts[0], index: a.name, user: a.user, password: a.password,
		http: &http.Client{Transport: &http.Transport{
			DialContext:         (&net.Dialer{}).DialContext, // and no proxy of the environment
			MaxConnsPerHost:     mostLinks,
			MaxIdleConnsPerHost: mostLinks,
			IdleConnTimeout:     time.Minute,
			DisableCompression:  true,
		}},
	}
}

// An openSearchError is an answer that is not of the 200s.
type openSearchError struct {
	status int
	Cause  struct {
		Type   string `json:"type"`
		Reason string `json:"reason"`
	} `json:"error"`
}

func (e *openSearchError) Error() string {
	return fmt.Sprintf("status %d: %s: %.200s", e.status, e.Cause.Type, e.Cause.Reason)
}

// do makes a request and decodes the answer into out, unless that is nil. ctx needs a deadline.
func (s *openSearchClient) do(ctx context.Context, method, path string, in []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, s.root+path, bytes.NewReader(in))
	if err != nil {
		return err
	}
	// Every request here may be sent twice with the effect of one: documents have names. So the
	// transport may do that when the server closed a resting connection.
	req.Header["Idempotency-Key"] = nil
	if len(in) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	if s.user != "" {
		req.SetBasicAuth(s.user, s.password)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, mostAnswer))
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		failed := &openSearchError{status: resp.StatusCode}
		if json.Unmarshal(body, failed) != nil {
			failed.Cause.Reason = string(body) // a proxy's page, for example
		}
		return failed.kind()
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("the answer cannot be read: %w", err)
	}
	return nil
}

// kind recognizes a full store: the block that the server puts on an index when its disk is full,
// or the disk's own error.
func (e *openSearchError) kind() error {
	if e.Cause.Type == "cluster_block_exception" &&
		strings.Contains(e.Cause.Reason, "disk usage exceeded") ||
		strings.Contains(e.Cause.Reason, "No space left on device") {
		return fmt.Errorf("%w: %w", errFull, e)
	}
	return e
}

// on creates the index if it does not exist, and then makes a request below it. An index that has
// vanished is made again by the next call.
func (s *openSearchClient) on(ctx context.Context, method, path string, in []byte, out any) error {
	if !s.ready.Load() {
		err := s.do(ctx, http.MethodPut, "/"+s.index, []byte(openSearchIndex), nil)
		if told, ok := errors.AsType[*openSearchError](err); ok &&
			told.Cause.Type == "resource_already_exists_exception" {
			err = nil
		}
		// An index that is there may not be open yet: a search would find no shard, though its
		// status is yellow.
		if err == nil {
			err = s.do(
				ctx,
				http.MethodGet,
				"/_cluster/health/"+s.index+"?wait_for_active_shards=1&timeout=30s",
				nil,
				nil,
			)
		}
		if err != nil {
			return fmt.Errorf("making the index: %w", err)
		}
		s.ready.Store(true)
	}
	err := s.do(ctx, method, "/"+s.index+path, in, out)
	if told, ok := errors.AsType[*openSearchError](err); ok &&
		told.Cause.Type == "index_not_found_exception" {
		s.ready.Store(false)
	}
	return err
}

// now is the time in ns, and never twice the same: it orders the stories.
func (s *openSearchClient) now() int64 {
	for {
		last := s.last.Load()
		now := max(time.Now().UnixNano(), last+1)
		if s.last.CompareAndSwap(last, now) {
			return now
		}
	}
}

// Add implements searcher.
func (s *openSearchClient) Add(ctx context.Context, sender int64, text string) error {
	doc, err := json.Marshal(struct {
		Sender int64  `json:"sender"`
		At     int64  `json:"at"`
		Story  string `json:"story"`
	}{sender, s.now(), text})
	if err != nil {
		return err
	}
	return s.on(
		ctx,
		http.MethodPut,
		"/_doc/"+strconv.FormatInt(sender, 10)+"-"+rand.Text(),
		doc,
		nil,
	)
}

// Commit implements searcher.
func (s *openSearchClient) Commit(ctx context.Context) error {
	return s.on(ctx, http.MethodPost, "/_refresh", nil, nil)
}

// Search implements searcher. The index's standard analyzer splits texts into words.
func (s *openSearchClient) Search(ctx context.Context, word string) (senders []int64, err error) {
	query, err := json.Marshal(map[string]any{
		"size":             mostHits,
		"_source":          false,
		"docvalue_fields":  []string{"sender"},
		"track_total_hits": false,
		"query": map[string]any{"match": map[string]any{"story": map[string]any{
			"query":    word,
			"operator": "and",
		}}},
		"sort": []any{map[string]any{"at": "desc"}},
	})
	if err != nil {
		return nil, err
	}
	var found struct {
		TimedOut bool `json:"timed_out"`
		Hits     struct {
			Hits []struct {
				Fields struct {
					Sender []int64 `json:"sender"`
				} `json:"fields"`
			} `json:"hits"`
		} `json:"hits"`
	}
	if err := s.on(ctx, http.MethodPost, "/_search", query, &found); err != nil {
		return nil, err
	}
	if found.TimedOut {
		return nil, errors.New("the answer is incomplete")
	}
	seen := map[int64]bool{}
	for _, h := range found.Hits.Hits {
		for _, sender := range h.Fields.Sender {
			if !seen[sender] {
				seen[sender] = true
				senders = append(senders, sender)
			}
		}
	}
	return senders, nil
}

// Describe implements searcher. The settings are those that decide the cost of a write.
func (s *openSearchClient) Describe(ctx context.Context) (StoreInfo, error) {
	info := StoreInfo{
		Role:     KindSearch,
		Name:     "Elasticsearch",
		Real:     true,
		Settings: map[string]string{"index": s.index},
	}
	var about struct {
		Version struct {
			Number       string `json:"number"`
			Distribution string `json:"distribution"`
		} `json:"version"`
	}
	if err := s.do(ctx, http.MethodGet, "/", nil, &about); err != nil {
		return info, err
	}
	if info.Version = about.Version.Number; about.Version.Distribution == "opensearch" {
		info.Name = "OpenSearch"
	}
	var of map[string]IndexSettings
	if err := s.on(ctx, http.MethodGet, "/_settings?include_defaults=true&flat_settings=true", nil, &of); err != nil {
		return info, err
	}
	for _, index := range of {
		for short, key := range map[string]string{
			"refresh":  "refresh_interval",
			"translog": "translog.durability",
		} {
			if v := index.Of(key); v != "" {
				info.Settings[short] = v
			}
		}
	}
	return info, nil
}

// IndexSettings are the flat settings of an index, with the server's defaults.
type IndexSettings struct{ Settings, Defaults map[string]any }

// Of returns a setting by its name behind "index."; "" if there is none.
func (s IndexSettings) Of(key string) (text string) {
	for _, from := range []map[string]any{s.Defaults, s.Settings} {
		if v, ok := from["index."+key]; ok {
			text = fmt.Sprint(v)
		}
	}
	return text
}

// GetOpenSearch reads a page of the server at an address, host:port, into v, unless that is nil.
// ctx needs a deadline.
func GetOpenSearch(ctx context.Context, addr, path string, v any) error {
	s := newOpenSearch(address{scheme: "http", hosts: []string{addr}})
	defer s.Close()
	return s.do(ctx, http.MethodGet, path, nil, v)
}

// rows implements counter. It refreshes the index, because added stories count only after that.
func (s *openSearchClient) rows(ctx context.Context) (map[string]int64, error) {
	if err := s.Commit(ctx); err != nil {
		return nil, err
	}
	var told struct {
		Count int64 `json:"count"`
	}
	err := s.on(ctx, http.MethodGet, "/_count", nil, &told)
	return map[string]int64{"documents": told.Count}, err
}

// Close implements searcher.
func (s *openSearchClient) Close() { s.http.CloseIdleConnections() }
