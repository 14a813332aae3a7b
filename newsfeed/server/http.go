package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// maxBody is the longest request body, in bytes.
const maxBody = 1 << 20

// statusGone is the status in telemetry for a client that did not wait for its answer.
const statusGone = 499

// A call is one request on its way through a handler.
type call struct {
	s      *Server
	w      http.ResponseWriter
	r      *http.Request
	ctx    context.Context
	legacy bool
	fields map[string]string // of the body
}

// A failure is an answer other than success.
type failure struct {
	Text  string `json:"error"`
	Store string `json:"store,omitempty"` // role of the store that failed the request

	status int
	cause  error // goes to the log, never to the client
}

func (f *failure) Error() string {
	if f.cause != nil {
		return f.Text + ": " + f.cause.Error()
	}
	return f.Text
}

func (f *failure) Unwrap() error { return f.cause }

func badRequest(format string, args ...any) *failure {
	return &failure{Text: fmt.Sprintf(format, args...), status: http.StatusBadRequest}
}

func unknownParticipant(ids ...int64) *failure {
	return &failure{
		Text: "there is no participant " + strings.Trim(
			strings.Join(strings.Fields(fmt.Sprint(ids)), " or "),
			"[]",
		),
		status: http.StatusNotFound,
	}
}

// storeFailure returns the client's error for a failed call to a store.
func (s *Server) storeFailure(role string, err error) *failure {
	f := &failure{
		Store:  role,
		status: http.StatusServiceUnavailable,
		cause:  err,
		Text:   "the " + role + " store cannot be reached, or refuses",
	}
	var ne net.Error
	switch {
	case errors.Is(err, errFull), redis.IsOOMError(err), databaseFull(err):
		f.status, f.Text = http.StatusInsufficientStorage, "the "+role+" store is full"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &ne) && ne.Timeout():
		f.status = http.StatusGatewayTimeout
		f.Text = fmt.Sprintf("the %s store did not answer within %v", role, s.cfg.timeout(role))
	}
	return f
}

// on makes one call to a store, with its deadline and its time measured. errNoParticipant is an
// answer, not a failure.
func (q *call) on(role, operation string, fn func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(q.ctx, q.s.cfg.timeout(role))
	defer cancel()
	start := time.Now()
	err := fn(ctx)
	told := errors.Is(err, errNoParticipant)
	q.s.met.store(role, operation, err == nil || told, time.Since(start))
	switch {
	case err == nil || told:
		return err
	case q.r.Context().Err() != nil:
		return &failure{status: statusGone, Text: "the client has gone", cause: err}
	}
	return q.s.storeFailure(role, err)
}

// A handler answers a request; its error is a *failure, or a mistake of the server.
type handler func(q *call) (any, error)

// handle makes a handler answer, and leaves one telemetry record.
func (s *Server) handle(entity, operation string, legacy bool, fn handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		ctx, cancel := context.WithTimeout(r.Context(), requestPatience*s.cfg.StoreTimeout)
		defer cancel()
		q := &call{s: s, w: w, r: r, ctx: ctx, legacy: legacy}
		v, err := fn(q)
		rec := Record{Entity: entity, Operation: operation, Status: http.StatusOK}
		if err != nil {
			f, ok := errors.AsType[*failure](err)
			if !ok {
				f = &failure{
					Text:   "an error of this server",
					status: http.StatusInternalServerError,
					cause:  err,
				}
			}
			rec.Status = f.status
			rec.Store = f.Store
			v = f
			if f.cause != nil {
				s.log.Warn("request failed",
					"entity", entity, "operation", operation, "status", f.status, "error", err)
			}
		}
		b, merr := json.Marshal(v)
		if merr != nil {
			b = []byte(`{"error":"an error of this server"}`)
			rec.Status = http.StatusInternalServerError
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(b)+1))
		respond(w, rec.Status, b)
		rec.At = time.Now()
		took := rec.At.Sub(start)
		rec.Micros = took.Microseconds()
		s.met.request(entity, operation, rec.Status, took)
		s.tel.add(rec)
	}
}

// respond writes an answer. A client that has gone is not an error of ours.
func respond(w http.ResponseWriter, status int, json []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(json, '\n'))
}

// body reads the fields of a form or of a JSON object.
func (q *call) body() error {
	q.fields = map[string]string{}
	raw, err := io.ReadAll(http.MaxBytesReader(q.w, q.r.Body, maxBody))
	if err != nil {
		if tooLong, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return &failure{
				Text:   fmt.Sprintf("the body is longer than %d bytes", tooLong.Limit),
				status: http.StatusRequestEntityTooLarge,
			}
		}
		return badRequest("the body cannot be read")
	}
	kind, _, _ := mime.ParseMediaType(q.r.Header.Get("Content-Type"))
	switch kind {
	case "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(string(raw))
		if err != nil {
			return badRequest("the body is not a form")
		}
		for k, v := range form {
			q.fields[k] = v[0]
		}
	case "application/json":
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &object) != nil || object == nil {
			return badRequest("the body is not a JSON object")
		}
		for k, v := range object {
			text := ""
			if json.Unmarshal(v, &text) != nil {
				text = string(v) // numbers as they are written
			}
			q.fields[k] = text
		}
	default:
		return &failure{
			Text: "the body's type is " + strconv.Quote(kind) +
				": want application/json or application/x-www-form-urlencoded",
			status: http.StatusUnsupportedMediaType,
		}
	}
	return nil
}

// text returns a field of the body, 1 to most characters long.
func (q *call) text(name string, most int) (string, error) {
	v := q.fields[name]
	if n := len([]rune(v)); n == 0 || n > most {
		return "", badRequest("%s has %d characters: want 1 to %d", name, n, most)
	}
	return v, nil
}

const linkPrefix = "/participant/"

// reference reads a participant's number or link.
func reference(name, v string) (int64, error) {
	id, err := strconv.ParseInt(strings.TrimPrefix(v, linkPrefix), 10, 32)
	if err != nil || id < 1 {
		return 0, badRequest(
			"%s is %.40q: want a participant's number or link, as 7 or %s7",
			name,
			v,
			linkPrefix,
		)
	}
	return id, nil
}

// subject returns the participant that a path names, or 0 if it names none.
func (q *call) subject() (int64, error) {
	v := q.r.PathValue("id")
	if v == "" {
		return 0, nil
	}
	return reference("id", v)
}

// from returns the participant who acts: the path's, the body's, or both if they agree.
func (q *call) from() (int64, error) {
	id, err := q.subject()
	if err != nil {
		return 0, err
	}
	if v, ok := q.fields["from"]; ok || id == 0 {
		from, err := reference("from", v)
		if err != nil {
			return 0, err
		}
		if id != 0 && id != from {
			return 0, badRequest("from is %d and the path is of participant %d", from, id)
		}
		return from, nil
	}
	return id, nil
}

// ref is a participant as this generation of the interface names it.
func (q *call) ref(id int64) any {
	if q.legacy {
		return id
	}
	return linkPrefix + strconv.FormatInt(id, 10)
}

// health requests the description of every store. The answer is 503 when one cannot be used.
func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	ask := map[string]func(context.Context) (StoreInfo, error){
		"database": s.db.Describe,
		"wide":     s.wide.Describe,
		"search":   s.search.Describe,
		"bus":      s.bus.Describe,
	}
	if s.cache != nil {
		ask["cache"] = s.cache.Describe
	}
	type answer struct {
		info StoreInfo
		err  error
	}
	answers := make(chan answer, len(ask))
	for role, fn := range ask {
		go func() { // ends with ctx, even if the store hangs
			ctx, cancel := context.WithTimeout(r.Context(), s.cfg.timeout(role))
			defer cancel()
			info, err := fn(ctx)
			info.Role = role
			answers <- answer{info, err}
		}()
	}
	stores, status := map[string]StoreInfo{}, http.StatusOK
	for range ask {
		a := <-answers
		if a.err != nil {
			f := s.storeFailure(a.info.Role, a.err)
			s.log.Warn("health", "error", f)
			a.info.Error, status = f.Text, http.StatusServiceUnavailable
		}
		stores[a.info.Role] = a.info
	}
	if s.cache == nil {
		stores["cache"] = StoreInfo{Role: "cache", Name: "none"}
	}
	b, err := json.Marshal(map[string]any{"stores": stores, "version": Version()})
	if err != nil {
		status = http.StatusInternalServerError
	}
	respond(w, status, b)
}
