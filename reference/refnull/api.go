package refnull

import (
	"bytes"
	_ "embed" // the table
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An answer is a line of the table in api.txt, which explains its form.
type answer struct {
	route  string // "METHOD /path below /api/v4"
	status int
	text   string // the template
	list   bool   // one text for each string in the body, between brackets
	each   string // of a list: the name of the strings; "#" counts up to the number in the body
	header string // a further header line's name
	value  string // and the template of its value
}

//go:embed api.txt
var table string

var named = regexp.MustCompile(`@\w+(\(\w+\))?`)

// readAnswers reads the table.
func readAnswers() (list []answer) {
	texts := map[string]string{}
	for line := range strings.Lines(table) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		line = named.ReplaceAllStringFunc(line, func(name string) string {
			name, arg, _ := strings.Cut(strings.TrimSuffix(name[1:], ")"), "(")
			return strings.ReplaceAll(texts[name], "%", arg)
		})
		method, rest, _ := strings.Cut(line, " ")
		path, rest, _ := strings.Cut(rest, " ")
		if method == "let" {
			texts[path] = rest
			continue
		}
		list = append(list, readAnswer(method+" "+path, rest))
	}
	return list
}

func readAnswer(route, rest string) answer {
	a := answer{route: route, status: 200}
	for {
		word, after, _ := strings.Cut(rest, " ")
		status, err := strconv.Atoi(word)
		switch {
		case err == nil:
			a.status = status
		case word[0] == '+':
			a.header, a.value, _ = strings.Cut(word[1:], "=")
		case strings.HasPrefix(word, "each"):
			a.list = true
			_, a.each, _ = strings.Cut(word, ":")
		default:
			a.text = rest
			return a
		}
		rest = after
	}
}

// A node is one segment of the table's paths.
type node struct {
	next map[string]*node
	star *node
	ends map[string]*compiled // by method
}

// A compiled answer is a template cut into its pieces.
type compiled struct {
	answer
	pieces []piece
	value  []piece
	post   bool // a message is accepted
}

func routes(version string) *node {
	root := &node{}
	for _, a := range readAnswers() {
		a.text = strings.ReplaceAll(a.text, "$version", version)
		method, path, _ := strings.Cut(a.route, " /")
		n := root
		for seg := range strings.SplitSeq(path, "/") {
			if seg == "*" {
				if n.star == nil {
					n.star = &node{}
				}
				n = n.star
				continue
			}
			if n.next == nil {
				n.next = map[string]*node{}
			}
			if n.next[seg] == nil {
				n.next[seg] = &node{}
			}
			n = n.next[seg]
		}
		if n.ends == nil {
			n.ends = map[string]*compiled{}
		}
		n.ends[method] = &compiled{
			answer: a,
			pieces: compile(a.text),
			value:  compile(a.value),
			post:   a.route == "POST /posts",
		}
	}
	return root
}

// find walks the path below /api/v4/ and keeps its arguments in r. Names win over stars where both
// fit.
func (n *node) find(r *request, path []byte, args int) *compiled {
	seg, rest, more := bytes.Cut(path, []byte{'/'})
	follow := func(m *node, args int) *compiled {
		switch {
		case m == nil:
			return nil
		case more:
			return m.find(r, rest, args)
		}
		return m.ends[string(r.method)]
	}
	if a := follow(n.next[string(seg)], args); a != nil {
		return a
	}
	if args == len(r.args) || len(seg) == 0 {
		return nil
	}
	r.args[args] = seg
	return follow(n.star, args+1)
}

var apiRoot = []byte("/api/v4/")

// api appends the answer to a request below /api/v4 or /refnull.
func (s *Server) api(out []byte, r *request, took time.Duration) []byte {
	path, ok := bytes.CutPrefix(r.path, apiRoot)
	if !ok {
		return s.own(out, r)
	}
	f := filling{s: s, r: r}
	a := s.routes.find(r, bytes.TrimSuffix(path, []byte{'/'}), 0)
	body := pool.Get().(*[]byte)
	defer pool.Put(body)
	b := (*body)[:0]
	var fields []string
	status := 200
	switch {
	case a == nil:
		s.strange.add(string(r.method) + " " + pattern(path))
		if r.get {
			b = append(b, "{}"...)
		} else {
			b = append(b, `{"status":"OK"}`...)
		}
	case a.list:
		status = a.status
		b = append(b, '[')
		first := true
		each(r.body, a.each, func(v []byte) {
			if !first {
				b = append(b, ',')
			}
			first = false
			f.it = v
			b = fill(b, a.pieces, &f)
		})
		b = append(b, ']')
	default:
		if status = a.status; a.post {
			s.posts.Add(1)
		}
		b = fill(b, a.pieces, &f)
		if a.header != "" {
			fields = []string{a.header, string(fill(nil, a.value, &f))}
		}
	}
	*body = b
	return append(appendHead(out, status, len(b), took, fields...), b...)
}

// pattern writes stars for segments that look like ids, and ends at 200 bytes.
func pattern(path []byte) string {
	segs := strings.Split(string(path[:min(len(path), 200)]), "/")
	for i, s := range segs {
		if len(s) >= 20 || strings.ContainsAny(s, "0123456789") {
			segs[i] = "*"
		}
	}
	return "/" + strings.Join(segs, "/")
}

// own answers /refnull/...
func (s *Server) own(out []byte, r *request) []byte {
	b := []byte(`{}`)
	status := 200
	switch string(r.path) {
	case "/refnull/stats":
		var err error
		if b, err = json.Marshal(s.Stats()); err != nil {
			panic(err) // numbers and strings
		}
		if slices.Contains(strings.Split(string(r.query), "&"), "reset") {
			s.forget()
		}
	case "/refnull/stall":
		length, after := time.Duration(-1), time.Duration(0)
		var err, err2 error
		for pair := range strings.SplitSeq(string(r.query), "&") {
			switch k, v, _ := strings.Cut(pair, "="); k {
			case "for":
				length, err = time.ParseDuration(v)
			case "in":
				after, err2 = time.ParseDuration(v)
			}
		}
		if err != nil || err2 != nil || length < 0 || length > maxDelay || after < 0 {
			status, b = 400, []byte(`{"message":"want ?for=DURATION&in=DURATION, for at most 1m"}`)
			break
		}
		s.stall.set(time.Now(), length, after)
	default:
		status, b = 404, []byte(`{"message":"want /refnull/stats or /refnull/stall"}`)
	}
	return append(appendHead(out, status, len(b), -1), b...)
}
