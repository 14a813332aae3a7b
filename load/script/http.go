package script

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/grafana/sobek"

	"plimsoll/internal/plain"
	"plimsoll/load/measure"
	"plimsoll/load/wire"
	"plimsoll/load/workload"
)

// agent is the User-Agent of a script that sets none.
const agent = "plimsoll"

const (
	mostRedirects = 10       // followed unless the script says otherwise
	mostResponse  = 64 << 20 // bytes of a body
)

// web is what one user has of the module k6/http.
type web struct {
	client *wire.Client // of the user's own code
	side   *wire.Client // of handlers, which run while client waits; nil until one needs it
	target origin
	jar    *jar   // of the iteration
	name   []byte // scratch

	agent     string
	redirects int
	expected  *statuses
	discard   bool // bodies are not kept unless a request says so
	keep      bool // cookies stay from one iteration to the next
}

// http returns the user's web.
func (r *realm) http() *web {
	if r.init {
		panic(r.fault("a request in the init code; make it in setup or in an action"))
	}
	if r.web != nil {
		return r.web
	}
	target, err := originOf(r.env.URL)
	if err != nil {
		panic(r.fault("%v", err))
	}
	w := &web{target: target, jar: &jar{}, agent: agent, redirects: mostRedirects}
	o := r.exports.options
	r.take(o, "userAgent", &w.agent)
	r.take(o, "maxRedirects", &w.redirects)
	r.take(o, "discardResponseBodies", &w.discard)
	r.take(o, "noCookiesReset", &w.keep)
	w.client = r.dialer(target)
	r.web = w
	return w
}

// dialer returns a client to the target without a connection; close closes it.
func (r *realm) dialer(to origin) *wire.Client {
	c, err := wire.NewClient(wire.Config{
		URL: to.url, HTTP2: r.env.HTTP2, Timeout: r.env.Timeout, Clock: r.env.Clock, Dial: r.env.Dial,
	})
	if err != nil {
		panic(r.fault("%v", err))
	}
	r.closers = append(r.closers, func() { _ = c.Close() }) // it has no errors worth a word
	return c
}

// renew empties the user's jar for the next iteration.
func (r *realm) renew() {
	if w := r.web; w != nil && !w.keep && len(w.jar.cookies) > 0 {
		w.jar = &jar{}
	}
}

// webNames are the members of the module k6/http.
var webNames = []string{
	"batch", "cookieJar", "CookieJar", "default", "del", "delete", "expectedStatuses", "file", "get", "head",
	"options", "patch", "post", "put", "request", "setResponseCallback", "url",
}

func webMember(r *realm, name string) sobek.Value {
	switch name {
	case "default":
		return r.module("k6/http")
	case "batch":
		return r.function(r.batch)
	case "cookieJar":
		return r.function(func(sobek.FunctionCall) sobek.Value { return r.jarObject(r.http().jar) })
	case "CookieJar":
		return r.rt.ToValue(func(sobek.ConstructorCall) *sobek.Object { return r.jarObject(&jar{}) })
	case "expectedStatuses":
		return r.function(r.expectedStatuses)
	case "setResponseCallback":
		return r.procedure(func(c sobek.FunctionCall) {
			r.http().expected = r.statusesOf(c.Argument(0))
		})
	case "file":
		return r.function(func(sobek.FunctionCall) sobek.Value {
			panic(r.fault("http.file() is not supported; build the multipart body as a string, or as an ArrayBuffer"))
		})
	case "url":
		return r.function(r.urlTag)
	case "request":
		return r.function(func(c sobek.FunctionCall) sobek.Value {
			return r.request(strings.ToUpper(c.Argument(0).String()), c.Argument(1), c.Argument(2), c.Argument(3))
		})
	case "get", "head":
		method := strings.ToUpper(name)
		return r.function(func(c sobek.FunctionCall) sobek.Value {
			return r.request(method, c.Argument(0), nil, c.Argument(1))
		})
	}
	method := strings.ToUpper(name)
	if name == "del" {
		method = "DELETE"
	}
	return r.function(func(c sobek.FunctionCall) sobek.Value {
		return r.request(method, c.Argument(0), c.Argument(1), c.Argument(2))
	})
}

// urlTag is http.url`…`: its value is the URL, and its name has ${} in the place of values.
func (r *realm) urlTag(c sobek.FunctionCall) sobek.Value {
	parts := c.Argument(0).ToObject(r.rt)
	var name, text strings.Builder
	for i, key := range parts.Keys() {
		part := parts.Get(key).String()
		name.WriteString(part)
		text.WriteString(part)
		if i+1 < len(c.Arguments) {
			name.WriteString("${}")
			text.WriteString(c.Argument(i + 1).String())
		}
	}
	u := text.String()
	return r.object("name", name.String(), "url", u,
		"toString", func(sobek.FunctionCall) sobek.Value { return r.rt.ToValue(u) })
}

// batch makes requests one after the other, in their order: a user has one connection.
func (r *realm) batch(c sobek.FunctionCall) sobek.Value {
	if missing(c.Argument(0)) {
		panic(r.fault("http.batch(requests): there are no requests"))
	}
	all := c.Argument(0).ToObject(r.rt)
	out := r.rt.NewObject()
	if all.ClassName() == "Array" {
		out = r.rt.NewArray()
	}
	for _, key := range all.Keys() {
		if err := out.Set(key, r.batched(all.Get(key))); err != nil {
			panic(err)
		}
	}
	return out
}

// batched makes one request of a batch: a URL, [method, url, body, params], or an object of these.
func (r *realm) batched(v sobek.Value) sobek.Value {
	o, ok := v.(*sobek.Object)
	if !ok || r.own(o, "method") == nil && o.ClassName() != "Array" {
		if ok && r.own(o, "name") == nil && r.own(o, "url") != nil {
			return r.request("GET", o.Get("url"), nil, o.Get("params"))
		}
		return r.request("GET", v, nil, nil)
	}
	keys := [4]string{"method", "url", "body", "params"}
	if o.ClassName() == "Array" {
		keys = [4]string{"0", "1", "2", "3"}
	}
	method := "GET"
	r.take(o, keys[0], &method)
	return r.request(strings.ToUpper(method), o.Get(keys[1]), o.Get(keys[2]), o.Get(keys[3]))
}

// request makes a request, follows its redirects and returns the last response.
func (r *realm) request(method string, to, body, params sobek.Value) sobek.Value {
	w := r.http()
	q := &call{jar: w.jar, expected: w.expected, redirects: w.redirects}
	q.wire = wire.Request{Method: method, Header: q.header[:0], MaxBody: mostResponse}
	if w.discard {
		q.kind = bodyNone
	}
	if tagged, ok := to.(*sobek.Object); ok {
		if u := r.own(tagged, "url"); u != nil {
			to = u
			r.take(tagged, "name", &q.tag)
		}
	}
	if missing(to) {
		panic(r.fault("http.%s: there is no URL", strings.ToLower(method)))
	}
	r.params(q, params)
	r.body(q, body)
	path, login, err := w.target.locate(to.String())
	if err != nil {
		panic(r.fault("http.%s: %v", strings.ToLower(method), err))
	}
	q.wire.Header = addField(q.wire.Header, "Authorization", login)
	q.wire.Header = addField(q.wire.Header, "User-Agent", w.agent)
	for hop := 0; ; hop++ {
		q.wire.Path = path
		resp := r.exchange(w, q)
		next := resp.redirect()
		if next == "" || hop >= q.redirects {
			return resp.value
		}
		if path, _, err = w.target.follow(path, next); err != nil {
			resp.problem = "redirect not followed: " + err.Error()
			return resp.value
		}
		if resp.status < http.StatusTemporaryRedirect && q.wire.Method != "HEAD" {
			q.wire.Method, q.wire.Body, q.wire.ContentType = "GET", nil, ""
		}
	}
}

// exchange makes one request and records it.
func (r *realm) exchange(w *web, q *call) *response {
	client := w.client
	if r.frame.beside != nil {
		if w.side == nil {
			w.side = r.dialer(w.target)
		}
		client = w.side
	}
	n := r.series.op(&w.name, q.tag, q.wire.Method, q.wire.Path)
	plainHeader := len(q.wire.Header)
	q.cookie(w.target.secure)
	q.wire.SkipBody = q.kind == bodyNone
	rec := r.recorder()
	rec.Begin(n.Name)
	got, err := r.do(client, &q.wire)
	if err != nil && r.frame.ctx.Err() != nil {
		client.Release()
		r.ended()
	}
	class := measure.OK
	switch {
	case err != nil:
		class = workload.ClassOf(err)
	case !q.expected.accept(got.Status):
		class = workload.ClassOfStatus(got.Status)
	}
	due := rec.Done(n.Name, got.Due, got.Sent, got.Done, class, got.BodyBytes)
	r.frame.sent = got.Sent
	r.rejoined()
	resp := r.response(w, q, got, err)
	q.wire.Header = q.wire.Header[:plainHeader]
	if class != measure.OK {
		r.failed(n.text, got.Status, class, due, err)
	}
	client.Release()
	r.ended()
	return resp
}

// do is wire.Client.Do as a host call that waits.
func (r *realm) do(client *wire.Client, q *wire.Request) (*wire.Response, error) {
	ctx := r.frame.ctx
	free := r.out()
	defer r.in(free)
	return client.Do(ctx, q)
}

// failed counts and notes an operation that failed.
func (r *realm) failed(name string, status int, class measure.Class, due time.Duration, err error) {
	r.frame.failed = true
	if r.series.prefix == "" {
		workload.Answered(r.series.reg, name, status, due)
	}
	text := "status " + strconv.Itoa(status)
	if err != nil {
		text = plain.Excerpt(err.Error(), mostText)
	}
	r.first(name, class, strconv.Itoa(status), text)
}

// origin is the target as scripts address it.
type origin struct {
	url    string // scheme and host
	base   string // path of the target's URL, without a slash at its end
	host   string // as in url
	secure bool
}

func originOf(target string) (origin, error) {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return origin{}, errors.New("the target has no URL")
	}
	return origin{
		url: u.Scheme + "://" + u.Host, base: strings.TrimSuffix(u.EscapedPath(), "/"),
		host: u.Host, secure: u.Scheme == "https",
	}, nil
}

// locate returns path and query of a URL of the script, and the header Authorization for a login in
// it. A URL without a host counts from the target's.
func (o *origin) locate(address string) (path, login string, err error) {
	rest, same := strings.CutPrefix(address, o.url)
	switch {
	case same && (rest == "" || strings.IndexByte("/?#", rest[0]) >= 0):
		path = rest
	case strings.HasPrefix(address, "/") && !strings.HasPrefix(address, "//"):
		path = o.base + address
	default:
		return o.locateAny(address)
	}
	return escaped(path), "", nil
}

// locateAny is locate for a URL of any form.
func (o *origin) locateAny(address string) (path, login string, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", "", errors.New(plain.Excerpt(address, 100) + " is not a URL")
	}
	if u.Host == "" && u.Scheme == "" {
		return escaped(o.base + "/" + address), "", nil
	}
	own, _ := url.Parse(o.url) // originOf has parsed it
	if u.Scheme == "" {
		u.Scheme = own.Scheme
	}
	if !strings.EqualFold(u.Scheme, own.Scheme) || authority(u) != authority(own) {
		return "", "", errors.New(u.Scheme + "://" + u.Host + " is of another origin than the target, " +
			o.url + "; build URLs from __ENV.BASE_URL, or make that server the target")
	}
	if u.User != nil {
		login = basic(u.User)
	}
	path = u.EscapedPath()
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return escaped(path), login, nil
}

// follow returns where a redirect from a path leads.
func (o *origin) follow(path, location string) (next, login string, err error) {
	from, err := url.Parse(o.url + path)
	if err != nil {
		return "", "", err
	}
	u, err := from.Parse(location)
	if err != nil {
		return "", "", errors.New("its location is not a URL")
	}
	return o.locate(u.String())
}

// authority returns host and port of a URL in one form.
func authority(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "80"
		if strings.EqualFold(u.Scheme, "https") {
			port = "443"
		}
	}
	return strings.ToLower(u.Hostname()) + ":" + port
}

// escaped returns a path without its fragment, with every byte escaped that must be, and beginning
// with a slash.
func escaped(path string) string {
	path, _, _ = strings.Cut(path, "#")
	if path == "" || path[0] != '/' {
		path = "/" + path
	}
	bad := 0
	for i := range len(path) {
		if c := path[i]; c <= ' ' || c >= 0x7f {
			bad++
		}
	}
	if bad == 0 {
		return path
	}
	const digits = "0123456789ABCDEF"
	b := make([]byte, 0, len(path)+2*bad)
	for i := range len(path) {
		if c := path[i]; c <= ' ' || c >= 0x7f {
			b = append(b, '%', digits[c>>4], digits[c&15])
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}
