package mattermost

import (
	_ "embed"
	"strings"
	"sync"
)

// handlerTable has the routes below /api/v4 with the names of their handlers, a line each: method,
// path with {} for each value, handler. Of two names in different versions it has one.
//
//go:embed handlers.txt
var handlerTable string

// A route is a path of the API in its segments.
type route struct {
	segments []string
	handler  string
}

// routesBy returns the routes by method and number of segments, paths with fewer values first.
var routesBy = sync.OnceValue(func() map[string][]route {
	out := map[string][]route{}
	for line := range strings.Lines(handlerTable) {
		f := strings.Fields(line)
		r := route{strings.Split(f[1], "/"), f[2]}
		key := f[0] + strings.Repeat("/", len(r.segments))
		if strings.Contains(f[1], "{}") {
			out[key] = append(out[key], r)
		} else {
			out[key] = append([]route{r}, out[key]...)
		}
	}
	return out
})

// HandlerOf returns the handler that a request of an access log goes to, as metrics name it: that of
// the first route that the path ends with, whatever subpath the server has; "" if there is none.
func HandlerOf(method, path string) string {
	path, _, _ = strings.Cut(path, "?")
	_, path, ok := strings.Cut(path, "/api/v4/")
	if !ok {
		return ""
	}
	segments := strings.Split("/"+strings.TrimSuffix(path, "/"), "/")
	if len(segments) > 20 {
		return ""
	}
	best, fewest := "", len(segments)
	for _, r := range routesBy()[method+strings.Repeat("/", len(segments))] {
		values := 0
		for i, s := range r.segments {
			if s == "{}" && segments[i] != "" {
				values++
			} else if s != segments[i] {
				values = len(segments)
				break
			}
		}
		if values < fewest {
			best, fewest = r.handler, values
		}
	}
	return best
}
