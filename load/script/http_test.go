package script

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"plimsoll/load/measure"
)

// mirror answers with what it was asked: method, path, body and some headers.
func mirror(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	switch r.URL.Path {
	case "/status":
		status := 200
		fmt.Sscan(r.URL.RawQuery, &status)
		w.WriteHeader(status)
		return
	case "/hop":
		http.Redirect(w, r, "/end", http.StatusFound)
		return
	case "/away":
		http.Redirect(w, r, "http://other.example/", http.StatusFound)
		return
	case "/loop":
		http.Redirect(w, r, "/loop", http.StatusTemporaryRedirect)
		return
	case "/login":
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: "s1", Path: "/"})
		http.SetCookie(w, &http.Cookie{Name: "other", Value: "x", Domain: "elsewhere.example"})
		http.SetCookie(w, &http.Cookie{Name: "deep", Value: "d", Path: "/deep"})
	case "/cut":
		conn, _, _ := w.(http.Hijacker).Hijack()
		conn.Close()
		return
	}
	w.Header().Add("X-Two", "1")
	w.Header().Add("X-Two", "2")
	w.Header().Set("x-lower", "yes")
	fmt.Fprintf(w, "%s %s?%s|%s|%s|%s|%s", r.Method, r.URL.Path, r.URL.RawQuery, body,
		r.Header.Get("Content-Type"), r.Header.Get("Cookie"), r.Header.Get("X-Own"))
}

// TestHTTP holds what the functions of k6/http send and return. Each expression is true.
func TestHTTP(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, code string }{
		{"get", `http.get("/a b?q=ü#f").body === "GET /a b?q=%C3%BC||||"`},
		{"absolute", `http.get(B + "/x").body === "GET /x?||||" && http.get(B).body === "GET /?||||"`},
		{"no slash", `http.get("x").body === "GET /x?||||"`},
		{"case of the origin", `http.get(B.toUpperCase() + "/x").status === 200`},
		{"methods", `["post", "put", "patch", "del", "options"].map(m => http[m]("/", "b").body.split(" ")[0]).join()
			=== "POST,PUT,PATCH,DELETE,OPTIONS"`},
		{"head", `http.head("/").body === "" && http.head("/").status === 200`},
		{"request", `http.request("post", "/", "b").body === "POST /?|b|||"`},
		{"form", `http.post("/", {b: "x y", a: 1, c: [1, 2]}).body === "POST /?|a=1&b=x+y&c=1&c=2|application/x-www-form-urlencoded||"`},
		{"own type of a form", `http.post("/", {a: 1}, {headers: {"content-type": "t/t"}}).body === "POST /?|a=1|t/t||"`},
		{"bytes", `http.post("/", new Uint8Array([104, 105]).buffer).body === "POST /?|hi|||"`},
		{"headers", `http.get("/", {headers: {"X-Own": "v", "Content-Length": "9", "Accept-Encoding": "gzip, br"}}).body === "GET /?||||v"`},
		{"headers of the answer", `(r => r.headers["X-Two"] === "1, 2" && r.headers["X-Lower"] === "yes")(http.get("/"))`},
		{"cookie of params", `http.get("/", {cookies: {a: "1", b: {value: "2"}}}).body === "GET /?|||a=1; b=2|"`},
		{"cookies", `(http.get("/login"), http.get("/").body === "GET /?|||sid=s1|" &&
			http.get("/deep/x").body === "GET /deep/x?|||deep=d; sid=s1|" &&
			http.get("/", {cookies: {sid: {value: "2", replace: true}}}).body === "GET /?|||sid=2|")`},
		{"cookie jar", `(j => (j.set(B, "k", "v"), j.cookiesForURL(B + "/").k[0] === "v" && http.get("/").body === "GET /?|||k=v|" &&
			(j.delete(B, "k"), http.get("/").body === "GET /?||||")))(http.cookieJar())`},
		{"own jar", `(j => (http.get("/login", {jar: j}), http.get("/").body === "GET /?||||" && http.get("/", {jar: j}).body.includes("sid=s1")))(new http.CookieJar())`},
		{"cookies of an answer", `http.get("/login").cookies.sid[0].value === "s1"`},
		{"redirect", `(r => r.status === 200 && r.url === B + "/end" && r.body === "GET /end?||||")(http.post("/hop", "b"))`},
		{"no redirect", `http.get("/hop", {redirects: 0}).status === 302`},
		{"redirects end", `http.get("/loop").status === 307`},
		{"redirect to another origin", `(r => r.status === 302 && r.error.includes("another origin"))(http.get("/away"))`},
		{"status", `(r => r.status === 404 && r.status_text === "404 Not Found" && r.error_code === 1404)(http.get("/status?404"))`},
		{"none", `http.get("/", {responseType: "none"}).body === null`},
		{"binary", `new Uint8Array(http.get("/", {responseType: "binary"}).body)[0] === 71`},
		{"timings", `(t => t.duration > 0 && t.duration >= t.waiting && t.blocked >= 0)(http.get("/").timings)`},
		{"failure", `(r => r.status === 0 && r.error !== "" && r.error_code > 0 && r.body === null)(http.get("/cut"))`},
		{"request of an answer", `(q => q.method === "POST" && q.body === "b" && q.headers["X-Own"][0] === "1")(http.post("/", "b", {headers: {"X-Own": "1"}}).request)`},
		{"batch of a list", `(r => r[0].body === "GET /a?||||" && r[1].body === "POST /b?|x|||" && r[2].body === "PUT /c?|y|||")(http.batch(
			["/a", ["POST", "/b", "x"], {method: "PUT", url: "/c", body: "y"}]))`},
		{"batch of an object", `http.batch({one: "/a", two: ["GET", "/b"]}).two.body === "GET /b?||||"`},
		{"tagged URL", "http.get(http.url`${B}/posts/${7}`).status === 200"},
		{"JSON of an answer", `JSON.parse(JSON.stringify(http.get("/"))).status === 200`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := staged(t, mirror, "const B = __ENV.BASE_URL; exports.default = () => { const v = "+tt.code+
				"; if (v !== true) { throw new Error('it is ' + v) } }", nil)
			s.act(s.user(0), 1)
			if said := s.said(); strings.Contains(said, "exception") {
				t.Error(said)
			}
		})
	}
}

// TestMisuse holds the exceptions of scripts that ask for what is not there.
func TestMisuse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ code, want string }{
		{`http.get("http://other.example/x")`, "http://other.example is of another origin than the target, http://"},
		{`http.get("http://other.example/x")`, "__ENV.BASE_URL"},
		{`http.get()`, "there is no URL"},
		{`http.get("/", {headers: {Host: "x"}})`, "the header Host is the target's"},
		{`http.get("/", {timeout: "soon"})`, `a time of "soon"`},
		{`http.get("/", {responseType: "blob"})`, `"text", "binary" or "none"`},
		{`http.get("/", {auth: "digest"})`, "params.auth is not supported"},
		{`http.file("x")`, "http.file() is not supported"},
		{`http.get("/").json()`, "the body is not JSON: GET /"},
		{`http.get("/cut").json()`, "there is no body"},
		{`http.get("/").html()`, "response.html() is not supported"},
		{`http.get = 1`, "TypeError"},
		{`delete http.get`, "TypeError"},
		{`open("x")`, "outside of the init code"},
		{`check(1)`, "there are no conditions"},
		{`check(1, {a: async () => true})`, "cannot be async"},
		{`check(1, {get a() { throw new Error("boo") }})`, "boo"},
		{`group("g")`, "there is no function"},
		{`group("g", () => fail("inside"))`, "test.js:2: inside"},
		{`throw {toString() { throw 1 }}`, "cannot be shown"},
		{`throw "text"`, "test.js:2: text"},
		{`null.x`, "test.js:2: TypeError: Cannot read property 'x' of"},
		{`(function f() { f() })()`, "nested more than 2000 deep"},
		{`return new Promise(() => {})`, "never settles"},
		{`return Promise.reject(new Error("later"))`, "test.js:2: later"},
		{`require("k6/browser")`, `no module "k6/browser"`},
	} {
		t.Run(tt.code, func(t *testing.T) {
			t.Parallel()
			s := staged(t, mirror, "exports.default = () => {\n"+tt.code+"\n}", nil)
			s.act(s.user(0), 2)
			s.says(tt.want)
			w := s.windows()["iteration default"]
			if w == nil || w.Classes[measure.Script] != 2 {
				t.Errorf("the exception is not counted: the user did not go on")
			}
		})
	}
}

// TestFailuresOfLoad: each is a response with status 0 in its class, and never an exception.
func TestFailuresOfLoad(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	s := staged(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/wait":
			<-gate
		case "/garbage":
			conn, _, _ := w.(http.Hijacker).Hijack()
			conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhi"))
			conn.Close()
		default:
			mirror(w, r)
		}
	}, `exports.default = () => {
	for (const [path, params] of [["/wait", {timeout: 50}], ["/garbage"], ["/cut"]]) {
		const r = http.get(path, params);
		if (r.status !== 0 || !r.error || !r.error_code) { throw new Error(path) }
	}
	http.get("/status?500"); http.get("/status?404"); http.get("/status?302");
	http.get("/status?409", {responseCallback: http.expectedStatuses(200, {min: 400, max: 410})});
	http.get("/status?503", {responseCallback: null, tags: {name: "any"}});
}`, nil)
	t.Cleanup(func() { close(gate) })
	s.act(s.user(0), 1)
	if said := s.said(); strings.Contains(said, "exception") {
		t.Error(said)
	}
	got := s.windows()
	for name, want := range map[string]map[measure.Class]uint64{
		"GET /wait":    {measure.Timeout: 1},
		"GET /garbage": {measure.Body: 1},
		"GET /cut":     {measure.Header: 1},
		"GET /status":  {measure.Status5xx: 1, measure.Status4xx: 1, measure.OK: 2},
		"any":          {measure.OK: 1},

		"http_500 GET /status": {measure.Status5xx: 1},
	} {
		w := got[name]
		if w == nil {
			t.Errorf("%s: nothing was recorded", name)
			continue
		}
		for class, n := range w.Classes {
			if n != want[measure.Class(class)] {
				t.Errorf("%s: %d of class %v", name, n, measure.Class(class))
			}
		}
	}
	if mix := s.env.Tally.Snapshot().Mixes(); len(mix) != 1 || mix[0].Failed != 1 {
		t.Errorf("the mix is %+v, want one failed action", mix)
	}
}

func TestRefusedConnection(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	s := staged(t, nil, `exports.default = () => { if (http.get("/").error_code !== 1210) throw 1 }`, nil)
	s.env.URL = "http://" + l.Addr().String()
	s.act(s.user(0), 1)
	if w := s.windows(); w["GET /"].Classes[measure.Dial] != 1 || w["iteration default"].Classes[measure.OK] != 1 {
		t.Errorf("the connection was not refused: %s", s.said())
	}
}

// TestInstants: the server's time is service, and what the script computes between two requests is
// lag of the generator.
func TestInstants(t *testing.T) {
	t.Parallel()
	const serves, computes = 30 * time.Millisecond, 40 * time.Millisecond
	s := staged(t, func(w http.ResponseWriter, r *http.Request) { time.Sleep(serves) }, `exports.default = () => {
	http.get("/first");
	for (const end = Date.now() + 45; Date.now() < end; );
	http.get("/second");
	sleep(0.01);
	http.get("/third");
}`, nil)
	s.act(s.user(0), 1)
	got := s.windows()
	for name, w := range got {
		if strings.HasPrefix(name, "GET") && w.Service.Min() < serves {
			t.Errorf("%s: service of %v, want at least %v", name, w.Service.Min(), serves)
		}
	}
	if lag := got["GET /second"].Lag.Max(); lag < computes {
		t.Errorf("a lag of %v, want at least %v: the script computed meanwhile", lag, computes)
	}
	if w := got["iteration default"]; w.Response.Min() < 3*serves+computes {
		t.Errorf("an iteration of %v", w.Response.Min())
	}
}
