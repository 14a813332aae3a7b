package perf

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// DefaultIndex is where the studied program wrote to.
const DefaultIndex = "performance"

const (
	bulkRest    = 200 * time.Millisecond // before the first repeat; it doubles
	bulkMost    = 5 * time.Second
	bulkRequest = 10 * time.Second
	mostAnswer  = 16 << 20
)

// A Bulk writes documents into Elasticsearch or OpenSearch by their bulk API. Safe for concurrent
// use.
type Bulk struct {
	url, user, password string
	index               string
	client              *http.Client
}

// NewBulk returns a writer into an index of the server at rawURL, http or https, which may hold
// user and password. No error repeats the address.
func NewBulk(rawURL, index string) (*Bulk, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New(
			"the address of Elasticsearch or OpenSearch cannot be used: want http://[USER:PASSWORD@]HOST:PORT",
		)
	}
	if index == "" || strings.ToLower(index) != index ||
		strings.ContainsAny(index, "\\/*?\"<>| ,#:") ||
		strings.ContainsAny(index[:1], "-_+.") {
		return nil, fmt.Errorf(
			"index %.60q: want lower-case letters, digits, dash and underscore",
			index,
		)
	}
	b := &Bulk{
		index: index,
		client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}},
	}
	if u.User != nil {
		b.user = u.User.Username()
		b.password, _ = u.User.Password()
		u.User = nil
	}
	b.url = strings.TrimRight(u.String(), "/") + "/_bulk"
	return b, nil
}

// A RefusedError reports documents that were refused for good.
type RefusedError struct {
	N      int    // documents
	Status int    // of the first
	Type   string // the server's name of the first reason
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf(
		"%d documents were refused, the first with status %d: %.200s",
		e.N,
		e.Status,
		e.Type,
	)
}

// Put writes documents, and repeats documents that the server cannot take yet until ctx ends, which
// needs a deadline. Documents that the server refuses for good are a *RefusedError; all others are
// there then.
func (b *Bulk) Put(ctx context.Context, docs []Document) error {
	refused := &RefusedError{}
	for rest := bulkRest; len(docs) > 0; rest = min(2*rest, bulkMost) {
		again, err := b.try(ctx, docs, refused)
		if err == nil && len(again) == 0 {
			break
		}
		if err != nil && !errors.Is(err, errLater) {
			return err
		}
		if err == nil {
			docs = again
			err = fmt.Errorf("%w: it cannot take %d documents now", errLater, len(again))
		}
		t := time.NewTimer(rest)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return fmt.Errorf("writing documents: %w; last: %w", context.Cause(ctx), err)
		}
	}
	if refused.N > 0 {
		return refused
	}
	return nil
}

// errLater is a failure that may pass.
var errLater = errors.New("the server did not take the documents")

// try makes one request, records documents that are refused for good, and returns the documents to
// send again.
func (b *Bulk) try(
	ctx context.Context,
	docs []Document,
	refused *RefusedError,
) (again []Document, err error) {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	for _, d := range docs {
		action := map[string]any{"index": map[string]string{"_index": b.index, "_id": d.ID()}}
		if err := errors.Join(enc.Encode(action), enc.Encode(d)); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, bulkRequest)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url, &body)
	if err != nil {
		return nil, errors.New("the request cannot be made")
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	if b.user != "" || b.password != "" {
		req.SetBasicAuth(b.user, b.password)
	}
	res, err := b.client.Do(req)
	if err != nil {
		if ue, ok := errors.AsType[*url.Error](err); ok {
			err = ue.Err // the URL stays out of the error
		}
		return docs, fmt.Errorf("%w: %w", errLater, err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, mostAnswer))
	switch {
	case err != nil:
		return docs, fmt.Errorf("%w: reading its answer: %w", errLater, err)
	case later(res.StatusCode):
		return docs, fmt.Errorf("%w: status %d", errLater, res.StatusCode)
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("writing documents: status %d, want 200", res.StatusCode)
	}
	var answer struct {
		Items []struct {
			Index *struct {
				Status int
				Error  struct{ Type string }
			}
		}
	}
	if err := json.Unmarshal(raw, &answer); err != nil || len(answer.Items) != len(docs) {
		return nil, fmt.Errorf(
			"writing documents: the answer speaks of %d documents, want %d: is this Elasticsearch or OpenSearch?",
			len(answer.Items),
			len(docs),
		)
	}
	for i, it := range answer.Items {
		switch {
		case it.Index == nil:
			return nil, errors.New("writing documents: the answer lacks the result of one")
		case it.Index.Status/100 == 2:
		case later(it.Index.Status):
			again = append(again, docs[i])
		default:
			if refused.N++; refused.N == 1 {
				refused.Status, refused.Type = it.Index.Status, it.Index.Error.Type
			}
		}
	}
	return again, nil
}

// later reports whether a status is one that may pass.
func later(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusBadGateway ||
		status == http.StatusServiceUnavailable ||
		status == http.StatusGatewayTimeout
}
