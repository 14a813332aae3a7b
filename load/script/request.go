package script

import (
	"bytes"
	"encoding/base64"
	"net/textproto"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/grafana/sobek"

	"plimsoll/load/wire"
)

// A bodyKind is how a script wants the body of a response.
type bodyKind uint8

const (
	bodyText bodyKind = iota
	bodyBinary
	bodyNone
)

// bodyKinds are the values of params.responseType.
var bodyKinds = map[string]bodyKind{"text": bodyText, "binary": bodyBinary, "none": bodyNone}

// A call is a request of a script with its parameters.
type call struct {
	wire      wire.Request
	header    [4]wire.Field // room for most headers
	tag       string
	kind      bodyKind
	redirects int
	expected  *statuses
	jar       *jar
	cookies   []sent
}

// sent is a cookie of the parameters.
type sent struct {
	name, value string
	replace     bool // in the place of the jar's
}

// hasField reports whether there is a header line of that name.
func hasField(header []wire.Field, name string) bool {
	return slices.ContainsFunc(header, func(f wire.Field) bool {
		return strings.EqualFold(f.Name, name)
	})
}

// addField adds a header line, unless there is one of that name or the value is empty.
func addField(header []wire.Field, name, value string) []wire.Field {
	if value != "" && !hasField(header, name) {
		header = append(header, wire.Field{Name: name, Value: value})
	}
	return header
}

// params reads the parameters of a request.
func (r *realm) params(q *call, v sobek.Value) {
	o, ok := v.(*sobek.Object)
	if !ok {
		return
	}
	if p := r.own(o, "headers"); p != nil {
		r.headers(q, p)
	}
	if p := r.own(o, "cookies"); p != nil {
		r.cookies(q, p)
	}
	r.take(r.own(o, "tags"), "name", &q.tag)
	if p := r.own(o, "timeout"); p != nil {
		q.wire.Timeout = r.duration(p, time.Millisecond)
	}
	r.take(o, "redirects", &q.redirects)
	if p := r.own(o, "responseType"); p != nil {
		kind, known := bodyKinds[p.String()]
		if !known {
			panic(r.fault(`params.responseType %q; want "text", "binary" or "none"`, p.String()))
		}
		q.kind = kind
	}
	if p := o.Get("responseCallback"); p != nil && !sobek.IsUndefined(p) {
		q.expected = r.statusesOf(p)
	}
	if p := r.own(o, "jar"); p != nil {
		h, _ := p.Export().(*hosted)
		if h == nil {
			panic(r.fault("params.jar is not a cookie jar"))
		}
		q.jar, _ = h.self.(*jar)
	}
	for _, key := range [...]string{"auth", "compression"} {
		if r.own(o, key) != nil {
			panic(r.fault("params.%s is not supported; set the header in params.headers", key))
		}
	}
}

// headers reads the headers of a request. The client itself sets some.
func (r *realm) headers(q *call, v sobek.Value) {
	o := v.ToObject(r.rt)
	for _, name := range o.GetOwnPropertyNames() {
		value := o.Get(name)
		if sobek.IsUndefined(value) {
			continue
		}
		text := value.String()
		switch len(name) {
		case len("Host"), len("Content-Length"), len("Transfer-Encoding"), len("Accept-Encoding"):
			switch textproto.CanonicalMIMEHeaderKey(name) {
			case "Host":
				panic(r.fault("params.headers: the header Host is the target's"))
			case "Content-Length", "Transfer-Encoding":
				continue
			case "Accept-Encoding":
				if strings.Contains(text, "gzip") {
					continue // as the client asks by itself, and decodes
				}
			}
		}
		q.wire.Header = append(q.wire.Header, wire.Field{Name: name, Value: text})
	}
}

// cookies reads the cookies of a request: {name: value} or {name: {value, replace}}.
func (r *realm) cookies(q *call, v sobek.Value) {
	o := v.ToObject(r.rt)
	for _, name := range o.Keys() {
		c := sent{name: name}
		value := o.Get(name)
		if inner := r.own(value, "value"); inner != nil {
			c.value = inner.String()
			r.take(value, "replace", &c.replace)
		} else {
			c.value = value.String()
		}
		q.cookies = append(q.cookies, c)
	}
}

// cookie appends the line of cookies: those of the parameters, and those of the jar that they do not
// replace.
func (q *call) cookie(secure bool) {
	if len(q.cookies) == 0 && (q.jar == nil || len(q.jar.cookies) == 0) {
		return
	}
	path, _, _ := strings.Cut(q.wire.Path, "?")
	var line []byte
	add := func(name, value string) {
		if len(line) > 0 {
			line = append(line, "; "...)
		}
		line = append(append(append(line, name...), '='), value...)
	}
	replaced := map[string]bool{}
	for _, c := range q.cookies {
		add(c.name, c.value)
		replaced[c.name] = c.replace
	}
	for _, c := range q.jar.of(path, secure) {
		if !replaced[c.Name] {
			add(c.Name, c.Value)
		}
	}
	if len(line) > 0 {
		q.wire.Header = append(q.wire.Header, wire.Field{Name: "Cookie", Value: string(line)})
	}
}

// body sets the body of a request: text, bytes, or an object as a form.
func (r *realm) body(q *call, v sobek.Value) {
	if missing(v) {
		return
	}
	o, ok := v.(*sobek.Object)
	if !ok {
		q.wire.Body = []byte(v.String())
		return
	}
	switch o.ExportType() { // any other object would be exported with all that is in it
	case reflect.TypeFor[sobek.ArrayBuffer]():
		q.wire.Body = bytes.Clone(o.Export().(sobek.ArrayBuffer).Bytes())
		return
	case reflect.TypeFor[[]byte]():
		q.wire.Body = bytes.Clone(o.Export().([]byte))
		return
	}
	form := url.Values{}
	for _, key := range o.Keys() {
		value := o.Get(key)
		if list, ok := value.(*sobek.Object); ok && list.ClassName() == "Array" {
			for _, i := range list.Keys() {
				form.Add(key, list.Get(i).String())
			}
			continue
		}
		form.Set(key, value.String())
	}
	q.wire.Body = []byte(form.Encode())
	if !hasField(q.wire.Header, "Content-Type") {
		q.wire.ContentType = "application/x-www-form-urlencoded"
	}
}

// duration reads a time: text as in "10s", or a number of units.
func (r *realm) duration(v sobek.Value, unit time.Duration) time.Duration {
	if sobek.IsNumber(v) {
		if f := v.ToFloat(); f > 0 {
			return time.Duration(min(f*float64(unit), float64(longest)))
		}
		panic(r.fault("a time of %s; want more than 0", v.String()))
	}
	d, err := time.ParseDuration(v.String())
	if err != nil || d <= 0 {
		panic(r.fault(`a time of %q; want one as in "10s", or milliseconds`, v.String()))
	}
	return d
}

// basic is the header of a login in a URL.
func basic(u *url.Userinfo) string {
	password, _ := u.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password))
}

// statuses are those that a request expects; nil is what k6 expects, 200 to 399.
type statuses struct{ ranges [][2]int }

// accept reports whether a status is expected.
func (s *statuses) accept(status int) bool {
	if s == nil {
		return status >= 200 && status < 400
	}
	for _, of := range s.ranges {
		if status >= of[0] && status <= of[1] {
			return true
		}
	}
	return false
}

// expectedStatuses makes a response callback of statuses and ranges {min, max}.
func (r *realm) expectedStatuses(c sobek.FunctionCall) sobek.Value {
	s := &statuses{}
	for _, v := range c.Arguments {
		low, high := r.own(v, "min"), r.own(v, "max")
		switch {
		case low != nil && high != nil:
			s.ranges = append(s.ranges, [2]int{int(low.ToInteger()), int(high.ToInteger())})
		case sobek.IsNumber(v):
			s.ranges = append(s.ranges, [2]int{int(v.ToInteger()), int(v.ToInteger())})
		default:
			panic(r.fault("http.expectedStatuses: %s is neither a status nor {min, max}", v.String()))
		}
	}
	return r.rt.ToValue(s)
}

// statusesOf reads a response callback; null accepts every status.
func (r *realm) statusesOf(v sobek.Value) *statuses {
	if missing(v) {
		return &statuses{ranges: [][2]int{{0, 999}}}
	}
	if o, ok := v.(*sobek.Object); ok {
		if s, ok := o.Export().(*statuses); ok {
			return s
		}
	}
	panic(r.fault("a response callback is made by http.expectedStatuses()"))
}
