package refchat

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	maxBody  = 100<<20 + 512 // the real server's MaxFileSize
	gzipFrom = 1400          // bytes: smaller answers are sent as they are
)

// request is one API request on its way through a handler.
type request struct {
	context.Context // ends with the request
	*Server

	w         http.ResponseWriter
	r         *http.Request
	requestID string
	sess      *session // nil without a valid session
	route     *route
	parts     []string // path segments
	status    int
	burner    *burner // nil once it has burnt

	// Path parameters and objects that the route's needs have checked.
	userID, teamID, channelID, id string
	post                          *post
	file                          *fileInfo
	bookmark                      *bookmark
}

// burn carries out the faults work and cpu, once in a request's life: after the handler's queries,
// before the first byte of its answer. Spins that came before the queries would all be spun before
// Go's scheduler handles the first query's answer; a spin after the answer would delay only answers
// that fit into the buffer which net/http sends at the end.
func (q *request) burn() {
	if q.burner != nil {
		q.burner.request(q.route.name)
		q.burner = nil
	}
}

// param returns a path parameter; "me" as user_id means the caller.
func (q *request) param(name string) string {
	for i, seg := range q.route.segs {
		if seg == "{"+name+"}" {
			if name == "user_id" && q.parts[i] == "me" && q.sess != nil {
				return q.sess.UserID
			}
			return q.parts[i]
		}
	}
	return ""
}

// idParam is param for identifiers: another form is a 400.
func (q *request) idParam(name string) (string, error) {
	id := q.param(name)
	if !validID(id) {
		return "", errURL(name)
	}
	return id, nil
}

// connection returns the id of the WebSocket that the client declares as its own, or "".
func (q *request) connection() string { return q.r.Header.Get("Connection-Id") }

// page returns the page and per_page parameters: defaults 0 and 60, at most 200 per page.
func (q *request) page() (page, per int) {
	page, err := strconv.Atoi(q.query("page"))
	if err != nil || page < 0 {
		page = 0
	}
	return page, q.limit("per_page")
}

// limit returns a parameter that bounds the answer: 60 by default, at most 200.
func (q *request) limit(name string) int {
	n, err := strconv.Atoi(q.query(name))
	if err != nil || n < 0 {
		n = 60
	}
	return min(n, 200)
}

// decode reads the request's JSON body; what is its name in the error.
func (q *request) decode(v any, what string) error {
	b, err := io.ReadAll(http.MaxBytesReader(q.w, q.r.Body, 4<<20))
	if err != nil || json.Unmarshal(b, v) != nil {
		return errBody(what)
	}
	return nil
}

// handler answers a request.
type handler = func(*request) error

// with makes a handler of one that takes the JSON body of its requests; what is its name in errors.
func with[T any](what string, fn func(*request, *T) error) handler {
	return func(q *request) error {
		in := new(T)
		if err := q.decode(in, what); err != nil {
			return err
		}
		return fn(q, in)
	}
}

// withList is with for a list, which must not be empty.
func withList[T any](what string, fn func(*request, []T) error) handler {
	return with(what, func(q *request, in *[]T) error {
		if len(*in) == 0 {
			return errBody(what)
		}
		return fn(q, *in)
	})
}

// lists makes a handler that answers with the rows of a query; op names it in errors.
func lists[T any](find *query[T], op string, args func(*request) []any) handler {
	return func(q *request) error { return replyList(q, find, op, args(q)...) }
}

// replyList answers with the rows of a query; op names it in errors.
func replyList[T any](q *request, find *query[T], op string, args ...any) error {
	list, err := find.list(q, q.st, args...)
	return q.answer(list, errStore(op, err))
}

// Arguments of queries that lists answers with.
func without(*request) []any      { return nil }
func ofUser(q *request) []any     { return []any{q.userID} }
func pageOfTeam(q *request) []any { return q.paged(q.teamID) }

// paged returns arguments, followed by the limit and the offset of the wanted page.
func (q *request) paged(args ...any) []any {
	page, per := q.page()
	return append(args, per, page*per)
}

// query returns the first value of a parameter of the URL's query, or "".
func (q *request) query(name string) string { return q.r.URL.Query().Get(name) }

// replyAs answers with v as JSON.
func (q *request) replyAs(status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return q.write(status, "application/json", b)
}

func (q *request) reply(v any) error   { return q.replyAs(http.StatusOK, v) }
func (q *request) created(v any) error { return q.replyAs(http.StatusCreated, v) }

// answer replies with v, unless err prevents it.
func (q *request) answer(v any, err error) error {
	if err != nil {
		return err
	}
	return q.reply(v)
}

// done replies like the real server when there is no result, unless err prevents it.
func (q *request) done(err error) error {
	if err != nil {
		return err
	}
	return q.ok()
}

// ok answers like the real server when there is no result.
func (q *request) ok() error {
	return q.write(http.StatusOK, "application/json", []byte(`{"status":"OK"}`))
}

var gzips = sync.Pool{New: func() any { return gzip.NewWriter(io.Discard) }}

// write answers with body, compressed when that is worth it and welcome.
func (q *request) write(status int, contentType string, body []byte) error {
	h := q.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Vary", "Accept-Encoding")
	if len(body) >= gzipFrom && contentType == "application/json" &&
		strings.Contains(q.r.Header.Get("Accept-Encoding"), "gzip") {
		var buf bytes.Buffer
		z := gzips.Get().(*gzip.Writer)
		z.Reset(&buf)
		_, _ = z.Write(body) // into memory
		_ = z.Close()
		gzips.Put(z)
		h.Set("Content-Encoding", "gzip")
		body = buf.Bytes()
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	q.status = status
	q.burn()
	q.w.WriteHeader(status)
	_, _ = q.w.Write(body) // a client that has gone is not the handler's error
	return nil
}

// notModified answers 304 if the client has etag already, and otherwise sets it.
func (q *request) notModified(etag string) bool {
	q.w.Header().Set("Etag", etag)
	if q.r.Header.Get("If-None-Match") != etag {
		return false
	}
	q.status = http.StatusNotModified
	q.burn()
	q.w.WriteHeader(http.StatusNotModified)
	return true
}

// fail answers with an error and logs it if it was the server's fault.
func (q *request) fail(err error) {
	e, ok := errors.AsType[*apiError](err)
	if !ok {
		e = errInternal
	}
	if e.StatusCode >= 500 {
		q.log.Error("request", "handler", q.route.name, "request_id", q.requestID, "err", err)
	}
	out := *e
	kind := "application/json"
	if q.route == notFound { // the real server's habit
		kind = "text/plain; charset=utf-8"
		q.w.Header().Del("X-Version-Id")
	} else {
		out.RequestID = q.requestID
	}
	b, _ := json.Marshal(out)
	q.met.httpErrors.Inc()
	_ = q.write(e.StatusCode, kind, b)
}

var notFound = &route{operation: operation{name: "notFound"}}

// ServeHTTP answers one API request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	q := &request{Context: r.Context(), Server: s, w: w, r: r, requestID: newID(), route: notFound}
	if rt, parts := s.router.find(r.Method, r.URL.Path); rt != nil {
		q.route, q.parts = rt, parts
	}
	h := w.Header()
	h.Set("X-Request-Id", q.requestID)
	h.Set("X-Version-Id", s.client.versionID)
	if r.Method == http.MethodGet {
		h.Set("Expires", "0")
	}
	pause := s.faults.stall(time.Since(s.start))
	err := sleep(r.Context(), pause)
	if pause > 0 {
		s.met.faultTime.WithLabelValues("stall").Add(pause.Seconds())
	}
	if err == nil && s.faults.limit.refuses(q.route.name, start) {
		s.met.refused.Inc()
		err = errTooMany(h)
	}
	if err == nil {
		if d := s.faults.lock.pass(); d > 0 {
			s.met.faultTime.WithLabelValues("lock").Add(d.Seconds())
		}
		q.burner = s.burn
		if len(s.st.replicas) > 0 && q.reads() {
			q.Context = fromReplica(q.Context)
		}
		err = q.handle()
	}
	if err != nil {
		q.fail(err)
	}
	q.burn() // of a handler that wrote nothing
	s.met.requests.Inc()
	if q.route.name != "connectWebSocket" {
		s.met.apiObserver(q.route.name, r.Method, q.status).Observe(time.Since(start).Seconds())
	}
}

// handle checks session and faults and calls the route's handler.
func (q *request) handle() error {
	if q.route.fn == nil {
		return errNoPage
	}
	if token, cookie := authToken(q.r); token != "" {
		sess, err := q.session(q, token)
		switch {
		case err == nil && cookie && q.r.Method != http.MethodGet && q.r.Header.Get("X-Csrf-Token") != sess.Props["csrf"]:
			return errSession // a page of another site may have sent the cookie
		case err == nil:
			q.sess = sess
		case q.route.open && statusOf(err) == http.StatusUnauthorized:
		default:
			if statusOf(err) == http.StatusUnauthorized {
				http.SetCookie(q.w, &http.Cookie{
					Name:     "MMAUTHTOKEN",
					Path:     "/",
					MaxAge:   -1,
					HttpOnly: true,
				})
			}
			return err
		}
	}
	if q.sess == nil && !q.route.open {
		return errSession
	}
	if q.faults.fails(q.route.name) {
		return newError(http.StatusInternalServerError, "refchat.fault.app_error", "Planted fault.")
	}
	for _, need := range q.route.needs {
		if err := need(q); err != nil {
			return err
		}
	}
	return q.route.fn(q)
}

func statusOf(err error) int {
	if e, ok := errors.AsType[*apiError](err); ok {
		return e.StatusCode
	}
	return http.StatusInternalServerError
}

// authToken returns the token of a request, of the bearer header or else the cookie.
func authToken(r *http.Request) (token string, cookie bool) {
	if a := r.Header.Get("Authorization"); len(a) > 7 && strings.EqualFold(a[:7], "bearer ") {
		return a[7:], false
	} else if len(a) > 6 && strings.EqualFold(a[:6], "token ") {
		return a[6:], false
	}
	if c, err := r.Cookie("MMAUTHTOKEN"); err == nil {
		return c.Value, true
	}
	return "", false
}

// router finds routes by method and path segments. http.ServeMux cannot hold this API:
// /teams/name/{n} and /teams/{id}/stats are ambiguous there; here literal segments win.
type router struct {
	routes map[routerKey][]*route
}

type routerKey struct {
	method string
	n      int
}

// newRouter leaves out the operations that the release does not have yet.
func newRouter(list []operation, rel release) *router {
	rt := &router{routes: map[routerKey][]*route{}}
	for _, op := range list {
		words := strings.Fields(op.call)
		r := &route{operation: op, segs: strings.Split(words[1][1:], "/")}
		since := release{}
		for i, w := range words[2:] {
			switch w {
			case "open":
				r.open = true
			case "since":
				since, _ = parseRelease(words[i+3]) // the table's own
			default:
				if need := needs[w]; need != nil {
					r.needs = append(r.needs, need)
				} else if strings.HasSuffix(w, "_id") {
					r.needs = append(r.needs,
						func(q *request) (err error) {
							q.id, err = q.idParam(w)
							return err
						})
				}
			}
		}
		if rel.atLeast(since) {
			k := routerKey{words[0], len(r.segs)}
			rt.routes[k] = append(rt.routes[k], r)
		}
	}
	return rt
}

// find returns the first route, in table order, that matches; nil if none does.
func (rt *router) find(method, path string) (*route, []string) {
	rest, ok := strings.CutPrefix(path, "/api/v4/")
	if !ok {
		rest = path // its first segment is empty, which none below /api/v4 is
	}
	parts := strings.Split(strings.TrimSuffix(rest, "/"), "/")
next:
	for _, r := range rt.routes[routerKey{method, len(parts)}] {
		for i, seg := range r.segs {
			if seg != parts[i] && (!strings.HasPrefix(seg, "{") || parts[i] == "") {
				continue next
			}
		}
		return r, parts
	}
	return nil, nil
}
