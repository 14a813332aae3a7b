package script

import (
	"errors"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"github.com/grafana/sobek"

	"plimsoll/internal/plain"
	"plimsoll/load/wire"
)

// A response is the answer to a request as the script sees it. Its properties are made when they are
// asked for.
type response struct {
	fixed
	r       *realm
	value   *sobek.Object // the response itself
	status  int
	problem string // why there was no answer; "" for any answer
	code    int    // k6's number of the failure; 0 without
	q       *call
	url     string
	body    string
	header  wire.Header

	blocked, waiting, receiving, took time.Duration
	made                              []property
}

// A property is one that was asked for, or the body decoded.
type property struct {
	key   string
	value sobek.Value
}

// keep returns a property that is made once.
func (resp *response) keep(key string, build func(key string) sobek.Value) sobek.Value {
	for i := range resp.made {
		if resp.made[i].key == key {
			return resp.made[i].value
		}
	}
	v := build(key)
	if v != nil {
		resp.made = append(resp.made, property{key, v})
	}
	return v
}

// response makes the response of a request.
func (r *realm) response(w *web, q *call, got *wire.Response, err error) *response {
	resp := &response{
		r: r, q: q, status: got.Status, url: w.target.url + q.wire.Path,
		blocked: got.Sent.Sub(got.Due), took: got.Done.Sub(got.Sent),
	}
	resp.value = r.rt.NewDynamicObject(resp)
	if err != nil {
		resp.status = 0
		resp.problem, resp.code = plain.Excerpt(err.Error(), mostText), codeOf(err)
		return resp
	}
	if resp.status >= 400 {
		resp.code = 1000 + resp.status
	}
	if !got.FirstByte.IsZero() {
		resp.waiting, resp.receiving = got.FirstByte.Sub(got.Sent), got.Done.Sub(got.FirstByte)
	}
	if q.kind != bodyNone {
		resp.body = string(got.Body)
	}
	resp.header = got.Header.Clone()
	if q.jar != nil {
		for _, line := range got.Header.Values("Set-Cookie") {
			if c, err := http.ParseSetCookie(line); err == nil {
				q.jar.set(c, w.target.host, q.wire.Path)
			}
		}
	}
	return resp
}

// codeOf returns the number that k6 has for a failure.
func codeOf(err error) int {
	e, ok := errors.AsType[*wire.Error](err)
	switch {
	case !ok:
		return 1000
	case e.Timeout && e.Phase == wire.PhaseDial:
		return 1211
	case e.Timeout:
		return 1050
	case e.Phase == wire.PhaseDial:
		return 1210
	case e.Phase == wire.PhaseTLS:
		return 1300
	}
	return 1220
}

// redirect returns where a response leads; "" if nowhere.
func (resp *response) redirect() string {
	switch resp.status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return resp.header.Get("Location")
	}
	return ""
}

// responseNames are the properties of a response that are values.
var responseNames = []string{
	"body", "cookies", "error", "error_code", "headers", "proto", "request", "status", "status_text", "timings", "url",
}

// Keys implements sobek.DynamicObject.
func (*response) Keys() []string { return responseNames }

// Has implements sobek.DynamicObject.
func (resp *response) Has(key string) bool { return resp.Get(key) != nil }

// Get implements sobek.DynamicObject.
func (resp *response) Get(key string) sobek.Value {
	rt := resp.r.rt
	switch key {
	case "status":
		return rt.ToValue(resp.status)
	case "error":
		return rt.ToValue(resp.problem)
	case "error_code":
		return rt.ToValue(resp.code)
	case "url":
		return rt.ToValue(resp.url)
	case "proto":
		if resp.r.env.HTTP2 {
			return rt.ToValue("HTTP/2.0")
		}
		return rt.ToValue("HTTP/1.1")
	case "status_text":
		if resp.status == 0 {
			return rt.ToValue("")
		}
		return rt.ToValue(strconv.Itoa(resp.status) + " " + http.StatusText(resp.status))
	case "json":
		if resp.r.json == nil {
			resp.r.json = resp.r.function(resp.r.responseJSON)
		}
		return resp.r.json
	}
	return resp.keep(key, resp.build)
}

// build makes a property that is kept.
func (resp *response) build(key string) sobek.Value {
	r := resp.r
	switch key {
	case "body":
		switch {
		case resp.q.kind == bodyNone || resp.status == 0:
			return sobek.Null()
		case resp.q.kind == bodyBinary:
			return r.rt.ToValue(r.rt.NewArrayBuffer([]byte(resp.body)))
		}
		return r.rt.ToValue(resp.body)
	case "headers":
		o := r.rt.NewObject()
		all := map[string]string{}
		for name, value := range resp.header.All {
			name = textproto.CanonicalMIMEHeaderKey(name)
			if before, ok := all[name]; ok {
				value = before + ", " + value
			}
			all[name] = value
		}
		for _, name := range sortedKeys(all) {
			must(nil, o.Set(name, all[name]))
		}
		return o
	case "timings":
		return r.object("duration", millis(resp.took), "blocked", millis(resp.blocked),
			"waiting", millis(resp.waiting), "receiving", millis(resp.receiving), "sending", 0.0,
			"connecting", 0.0, "tls_handshaking", 0.0, "looking_up", 0.0)
	case "cookies":
		o := r.rt.NewObject()
		for _, line := range resp.header.Values("Set-Cookie") {
			c, err := http.ParseSetCookie(line)
			if err != nil {
				continue
			}
			one := r.object("name", c.Name, "value", c.Value, "domain", c.Domain, "path", c.Path,
				"http_only", c.HttpOnly, "secure", c.Secure, "max_age", c.MaxAge)
			must(nil, o.Set(c.Name, r.rt.NewArray(one)))
		}
		return o
	case "request":
		o := r.object("method", resp.q.wire.Method, "url", resp.url, "body", string(resp.q.wire.Body))
		h := r.rt.NewObject()
		for _, f := range resp.q.wire.Header {
			must(nil, h.Set(f.Name, r.rt.NewArray(f.Value)))
		}
		must(nil, o.Set("headers", h))
		return o
	case "html", "submitForm", "clickLink":
		return r.function(func(sobek.FunctionCall) sobek.Value {
			panic(r.fault("response.%s() is not supported; look into response.body", key))
		})
	}
	return nil
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// object returns an object of names and values.
func (r *realm) object(pairs ...any) *sobek.Object {
	o := r.rt.NewObject()
	for i := 0; i < len(pairs); i += 2 {
		must(nil, o.Set(pairs[i].(string), pairs[i+1]))
	}
	return o
}

// responseJSON is response.json(path): the body as a value, or what a path leads to, as in "a.b.0",
// with # for a length.
func (r *realm) responseJSON(c sobek.FunctionCall) sobek.Value {
	var resp *response
	if o, ok := c.This.(*sobek.Object); ok {
		resp, _ = o.Export().(*response)
	}
	if resp == nil || resp.q.kind == bodyNone || resp.status == 0 {
		panic(r.fault("response.json(): there is no body"))
	}
	v := resp.keep("decoded", func(string) sobek.Value {
		v, err := r.parse(sobek.Undefined(), r.rt.ToValue(resp.body))
		if err != nil {
			panic(r.fault("response.json(): the body is not JSON: %s", plain.Excerpt(resp.body, 60)))
		}
		return v
	})
	if missing(c.Argument(0)) {
		return v
	}
	path := c.Argument(0).String()
	if strings.ContainsAny(path, "*?|@()\\") {
		panic(r.fault("response.json(%q): want names and numbers with dots between them", path))
	}
	for step := range strings.SplitSeq(path, ".") {
		if step == "#" {
			step = "length"
		}
		o, ok := v.(*sobek.Object)
		if !ok {
			return sobek.Undefined()
		}
		if v = o.Get(step); v == nil {
			return sobek.Undefined()
		}
	}
	return v
}
