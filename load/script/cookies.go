package script

import (
	"net"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/grafana/sobek"
)

// mostCookies is how many cookies a jar keeps.
const mostCookies = 200

// A jar holds the cookies of one user, all of them the target's.
type jar struct{ cookies []*http.Cookie }

// set keeps a cookie that the target has set in the answer to a request of that path, or forgets it.
func (j *jar) set(c *http.Cookie, host, of string) {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if d := strings.TrimPrefix(strings.ToLower(c.Domain), "."); d != "" &&
		d != strings.ToLower(host) && !strings.HasSuffix(strings.ToLower(host), "."+d) {
		return
	}
	if c.Path == "" || c.Path[0] != '/' {
		of, _, _ = strings.Cut(of, "?")
		c.Path = path.Dir(of)
	}
	j.cookies = slices.DeleteFunc(j.cookies, func(have *http.Cookie) bool {
		return have.Name == c.Name && have.Path == c.Path
	})
	now := time.Now()
	if c.MaxAge > 0 {
		c.Expires = now.Add(time.Duration(c.MaxAge) * time.Second)
	}
	if c.MaxAge < 0 || !c.Expires.IsZero() && !c.Expires.After(now) || len(j.cookies) >= mostCookies {
		return
	}
	c.Raw, c.Unparsed = "", nil
	j.cookies = append(j.cookies, c)
}

// of returns the cookies for a request of that path, the ones of longer paths first.
func (j *jar) of(to string, secure bool) []*http.Cookie {
	if j == nil {
		return nil
	}
	var out []*http.Cookie
	now := time.Now()
	for _, c := range j.cookies {
		below := to == c.Path || strings.HasPrefix(to, strings.TrimSuffix(c.Path, "/")+"/")
		if below && (secure || !c.Secure) && (c.Expires.IsZero() || c.Expires.After(now)) {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b *http.Cookie) int { return len(b.Path) - len(a.Path) })
	return out
}

// jarNames are the members of a cookie jar.
var jarNames = []string{"clear", "cookiesForURL", "delete", "set"}

// jarObject returns a jar as the script sees it.
func (r *realm) jarObject(j *jar) *sobek.Object {
	return r.rt.NewDynamicObject(&hosted{r: r, self: j, of: module{jarNames, func(r *realm, name string) sobek.Value {
		return r.function(func(c sobek.FunctionCall) sobek.Value {
			w := r.http()
			to, _, err := w.target.locate(c.Argument(0).String())
			if err != nil {
				panic(r.fault("jar.%s: %v", name, err))
			}
			to, _, _ = strings.Cut(to, "?")
			switch name {
			case "cookiesForURL":
				o := r.rt.NewObject()
				for _, have := range j.of(to, w.target.secure) {
					must(nil, o.Set(have.Name, r.rt.NewArray(have.Value)))
				}
				return o
			case "clear":
				j.cookies = nil
			case "delete":
				j.cookies = slices.DeleteFunc(j.cookies, func(have *http.Cookie) bool {
					return have.Name == c.Argument(1).String()
				})
			case "set":
				r.setCookie(j, w, to, c)
			}
			return sobek.Undefined()
		})
	}}})
}

// setCookie is jar.set(url, name, value, options).
func (r *realm) setCookie(j *jar, w *web, to string, c sobek.FunctionCall) {
	one := &http.Cookie{Name: c.Argument(1).String(), Value: c.Argument(2).String(), Path: "/"}
	options := c.Argument(3)
	r.take(options, "path", &one.Path)
	r.take(options, "domain", &one.Domain)
	r.take(options, "secure", &one.Secure)
	r.take(options, "max_age", &one.MaxAge)
	j.set(one, w.target.host, to)
}
