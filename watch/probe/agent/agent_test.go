package agent

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/watch/series"
)

const geheim = "geheim-0123456789abcdef"

// serve starts a server on the loopback device. stop ends it; the end of the test does so too.
func serve(t *testing.T, c Config) (s *Server, url string, stop func()) {
	t.Helper()
	if c.Token == "" {
		c.Token = geheim
	}
	if c.What.Role == "" {
		c.What.Role = "proxy"
	}
	if c.Certificate.Certificate == nil {
		var err error
		if c.Certificate, err = SelfMade(); err != nil {
			t.Fatal(err)
		}
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	ended := false
	stop = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return s, "https://" + l.Addr().String(), stop
}

func remote(t *testing.T, c RemoteConfig) *Remote {
	t.Helper()
	if c.Token == "" {
		c.Token = geheim
	}
	if c.Role == "" {
		c.Role = "proxy"
	}
	c.Instance = c.Role + "-0"
	r, err := NewRemote(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func sample(t *testing.T, r *Remote) ([]series.Sample, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return r.Sample(ctx, time.Now())
}

// One host's numbers through TLS: each series once, with the role that it is about and an instance, and none that
// could be taken for the generator's own.
func TestRemoteHost(t *testing.T) {
	s, url, stop := serve(t, Config{What: What{Role: "proxy", Processes: []Processes{{"app", []string{fmt.Sprint(os.Getpid())}}}, NICs: []string{"lo"}}})
	r := remote(t, RemoteConfig{URL: url, Fingerprint: s.Fingerprint()})
	if r.Name() != "agent proxy-0" {
		t.Errorf("name %q", r.Name())
	}
	for range 3 {
		got, err := sample(t, r)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		names := map[string]string{}
		for _, x := range got {
			key := string(x.AppendKey(nil))
			if seen[key] {
				t.Errorf("%s is there twice", key)
			}
			seen[key] = true
			names[x.Name] = label(x, "role")
			if label(x, "instance") != "proxy-0" || label(x, "role") != "proxy" && label(x, "role") != "app" {
				t.Errorf("labels of %s", key)
			}
		}
		for name, role := range map[string]string{
			"node_cpu_seconds_total": "proxy", "node_netstat_TcpExt_ListenOverflows": "proxy", "node_sockstat_TCP_inuse": "proxy",
			"plimsoll_process_count": "app", "plimsoll_probe_up": "proxy", "plimsoll_agent_clock_offset_seconds": "proxy",
			"node_network_receive_missed_errors_total": "proxy",
		} {
			if names[name] != role {
				t.Errorf("%s has role %q, want %q", name, names[name], role)
			}
		}
		for _, probe := range []string{"host", "process", "cgroup", "nic lo"} {
			if key := fmt.Sprintf(`plimsoll_probe_up{instance="proxy-0",probe=%q,role="proxy"}`, probe); !seen[key] {
				t.Errorf("no %s", key)
			}
		}
	}
	// It is the same clock: it cannot be further away than half of the way.
	if c := r.best(); c.offset.Abs() > c.way/2+10*time.Microsecond {
		t.Errorf("the same clock is %v ahead, give or take %v", c.offset, c.way/2)
	}
	// An agent that ends in the middle is a failure at once, and its error names the cause to
	// check.
	stop()
	if got, err := sample(t, r); err == nil || len(got) > 0 || !strings.Contains(err.Error(), "does plimsoll agent -probe run there?") {
		t.Errorf("%d samples, error %v", len(got), err)
	}
}

// Cores of a role on a shared host.
func TestCores(t *testing.T) {
	s, url, _ := serve(t, Config{What: What{Role: "proxy", CPUs: []int{0}}})
	r := remote(t, RemoteConfig{URL: url, Fingerprint: s.Fingerprint()})
	cores := map[string]bool{}
	for deadline := time.Now().Add(10 * time.Second); ; {
		got, err := sample(t, r)
		if err != nil {
			t.Fatal(err)
		}
		busy := 0
		sums := map[string]float64{}
		for _, x := range got {
			if strings.HasPrefix(x.Name, "node_cpu_") || strings.HasPrefix(x.Name, "node_schedstat_") {
				cores[label(x, "cpu")] = true
			}
			if x.Name == "plimsoll_cpu_busy_ratio" {
				busy++
			}
			sums[x.Name] += x.Value
			if x.Name == "node_cpu_seconds_total" && (label(x, "mode") == "idle" || label(x, "mode") == "iowait") {
				sums["idle"] += x.Value
			}
		}
		all, used := sums["plimsoll_agent_cpu_seconds_total"], sums["plimsoll_agent_cpu_busy_seconds_total"]
		if all == 0 || math.Abs(all-sums["node_cpu_seconds_total"]) > 0.001 || math.Abs(all-used-sums["idle"]) > 0.001 {
			t.Errorf("CPU: %v of %v; all modes %v, idle %v", used, all, sums["node_cpu_seconds_total"], sums["idle"])
		}
		if busy == 1 {
			break
		}
		if busy > 1 || time.Now().After(deadline) {
			t.Fatalf("%d series of plimsoll_cpu_busy_ratio, want one", busy)
		}
	}
	if len(cores) != 1 || !cores["0"] {
		t.Errorf("cores %v, want 0 alone", cores)
	}
}

func TestRefused(t *testing.T) {
	s, url, _ := serve(t, Config{})
	other, err := SelfMade()
	if err != nil {
		t.Fatal(err)
	}
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	for name, c := range map[string]struct {
		conf RemoteConfig
		want string
	}{
		"wrong token":       {RemoteConfig{URL: url, Fingerprint: s.Fingerprint(), Token: "geheim-anders"}, "the agent refuses the token (401)"},
		"longer token":      {RemoteConfig{URL: url, Fingerprint: s.Fingerprint(), Token: geheim + "x"}, "the agent refuses the token (401)"},
		"wrong fingerprint": {RemoteConfig{URL: url, Fingerprint: Fingerprint(other.Certificate[0])}, "the certificate there has the fingerprint " + s.Fingerprint()},
		"unknown authority": {RemoteConfig{URL: url, CA: SystemCA}, "the certificate there is not trusted"},
		"no TLS":            {RemoteConfig{URL: strings.Replace(plain.URL, "http:", "https:", 1), Fingerprint: s.Fingerprint()}, "the server there does not speak TLS"},
		"other role":        {RemoteConfig{URL: url, Fingerprint: s.Fingerprint(), Role: "db"}, "the agent there has the role proxy, and the plan says db; start it with -role db"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := sample(t, remote(t, c.conf))
			if err == nil || len(got) > 0 || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "geheim") {
				t.Errorf("%d samples, error %v; want %q", len(got), err, c.want)
			}
		})
	}
	t.Run("without TLS", func(t *testing.T) {
		res, err := http.Get(strings.Replace(url, "https", "http", 1) + "/metrics")
		if err != nil {
			return
		}
		defer res.Body.Close()
		if b, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusBadRequest || strings.Contains(string(b), "node_") {
			t.Errorf("%s: %s", res.Status, b)
		}
	})
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: remote(t, RemoteConfig{URL: url, Fingerprint: s.Fingerprint()}).client.Transport.(*http.Transport).TLSClientConfig.Clone(), DisableKeepAlives: true}}
	for name, c := range map[string]struct {
		method, path, auth string
		want               int
	}{
		"no token":    {"GET", "/metrics", "", 401},
		"not bearer":  {"GET", "/metrics", geheim, 401},
		"other path":  {"GET", "/", "Bearer " + geheim, 404},
		"secret path": {"GET", "/nothing", "", 401},
		"method":      {"POST", "/metrics", "Bearer " + geheim, 405},
		"right":       {"GET", "/metrics", "Bearer " + geheim, 200},
	} {
		t.Run(name, func(t *testing.T) {
			req, _ := http.NewRequestWithContext(t.Context(), c.method, url+c.path, nil)
			if c.auth != "" {
				req.Header.Set("Authorization", c.auth)
			}
			res, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if b, _ := io.ReadAll(res.Body); res.StatusCode != c.want || strings.Contains(string(b), "geheim") || (c.want != 200) == strings.Contains(string(b), "node_") {
				t.Errorf("%d: %.200s", res.StatusCode, b)
			}
		})
	}
}

// scripted is a Remote of a lying or dying agent.
func scripted(t *testing.T, answer http.HandlerFunc) *Remote {
	t.Helper()
	srv := httptest.NewTLSServer(answer)
	t.Cleanup(srv.Close)
	return remote(t, RemoteConfig{URL: srv.URL, Fingerprint: Fingerprint(srv.Certificate().Raw)})
}

const small = `# TYPE a unknown
a{role="proxy"} 1
plimsoll_agent_info{role="proxy",version="1"} 1
plimsoll_agent_received_timestamp_seconds{role="proxy"} 1.7e9
plimsoll_agent_replied_timestamp_seconds{role="proxy"} 1.7e9
plimsoll_probe_up{probe="host",role="proxy"} 1
plimsoll_probe_up{probe="nginx",role="proxy"} 1
# EOF
`

func TestLyingAgent(t *testing.T) {
	for name, c := range map[string]struct{ page, kind, want string }{
		"whole":          {small, contentType, ""},
		"cut at a line":  {strings.TrimSuffix(small, "# EOF\n"), contentType, "the agent's page cannot be read"},
		"cut in a line":  {small[:60], contentType, "the agent's page cannot be read"},
		"empty":          {"", contentType, "the agent's page cannot be read"},
		"no series":      {"# EOF\n", contentType, "the answer is not the page of plimsoll agent -probe"},
		"other exporter": {"a{role=\"proxy\"} 1\n# EOF\n", contentType, "the answer is not the page of plimsoll agent -probe"},
		"HTML":           {"<html>", "text/html", "the answer is not the page of plimsoll agent -probe"},
		"no role":        {strings.Replace(small, `a{role="proxy"}`, "a", 1), contentType, "a has no role"},
		"instance":       {strings.Replace(small, `a{role="proxy"}`, `a{role="proxy",instance="app-0"}`, 1), contentType, `it has a label "instance" already`},
		"time stamp":     {strings.Replace(small, `a{role="proxy"} 1`, `a{role="proxy"} 1 1700000000`, 1), contentType, "has a time stamp of its own"},
	} {
		t.Run(name, func(t *testing.T) {
			r := scripted(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.kind)
				_, _ = io.WriteString(w, c.page)
			})
			got, err := sample(t, r)
			if c.want == "" {
				if err != nil || len(got) != 6 {
					t.Errorf("%d samples, %v", len(got), err)
				}
			} else if err == nil || len(got) > 0 || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d samples, error %v; want %q", len(got), err, c.want)
			}
		})
	}
	t.Run("connection cut", func(t *testing.T) {
		r := scripted(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.Header().Set("Content-Length", "100000")
			_, _ = io.WriteString(w, small)
		})
		if got, err := sample(t, r); err == nil || len(got) > 0 || !strings.Contains(err.Error(), "reading the agent's page: unexpected EOF") {
			t.Errorf("%d samples, error %v", len(got), err)
		}
	})
	t.Run("probe gone", func(t *testing.T) {
		page := small
		r := scripted(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			_, _ = io.WriteString(w, page)
		})
		if _, err := sample(t, r); err != nil {
			t.Fatal(err)
		}
		page = strings.Replace(small, "plimsoll_probe_up{probe=\"nginx\",role=\"proxy\"} 1\n", "", 1)
		if got, err := sample(t, r); err == nil || len(got) != 5 || !strings.Contains(err.Error(), "its probe nginx is there no more") {
			t.Errorf("%d samples, error %v", len(got), err)
		}
	})
	t.Run("silent", func(t *testing.T) {
		r := scripted(t, func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() })
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := r.Sample(ctx, time.Now()); err == nil || !strings.Contains(err.Error(), "no answer in time") {
			t.Errorf("error %v", err)
		}
	})
}

// A probe that fails there fails here, with its name and reason; the samples of the others are not
// lost.
func TestProbeFailsThere(t *testing.T) {
	up := true
	nginx := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !up {
			http.Error(w, "no", http.StatusBadGateway)
			return
		}
		fmt.Fprint(w, "Active connections: 3 \nserver accepts handled requests\n 10 10 20 \nReading: 0 Writing: 1 Waiting: 2 \n")
	}))
	defer nginx.Close()
	s, url, _ := serve(t, Config{What: What{Role: "proxy", Nginx: nginx.URL + "/status?token=geheim"}})
	r := remote(t, RemoteConfig{URL: url, Fingerprint: s.Fingerprint()})
	if _, err := sample(t, r); err != nil {
		t.Fatal(err)
	}
	up = false
	got, err := sample(t, r)
	if err == nil || !strings.Contains(err.Error(), "its probe nginx fails there: answer 502 Bad Gateway, want 200") || strings.Contains(err.Error(), "geheim") {
		t.Errorf("error %v", err)
	}
	names := map[string]float64{}
	for _, x := range got {
		names[x.Name+" "+label(x, "probe")] = x.Value
	}
	if v, ok := names["plimsoll_probe_up nginx"]; !ok || v != 0 || names["plimsoll_probe_up host"] != 1 || names["node_load1 "] == 0 && len(got) < 50 {
		t.Errorf("%d samples, nginx up: %v %v", len(got), v, ok)
	}
	// A missing process, and a path that is not a file.
	s, url, _ = serve(t, Config{What: What{Role: "proxy", Processes: []Processes{{"app", []string{"/nowhere/app.pid"}}}}})
	_, err = sample(t, remote(t, RemoteConfig{URL: url, Fingerprint: s.Fingerprint()}))
	if err == nil || !strings.Contains(err.Error(), "its probe process fails there: role app: no process") || !strings.Contains(err.Error(), "/nowhere/app.pid") {
		t.Errorf("error %v", err)
	}
}

// stuck is a probe that does not end when it should.
type stuck struct{ until chan struct{} }

func (s stuck) Name() string { return "stuck" }
func (s stuck) Sample(context.Context, time.Time) ([]series.Sample, error) {
	<-s.until
	return []series.Sample{{Name: "late", Value: 1}}, nil
}

// A probe that hangs delays no other, is a failure, and its late samples are not reported as new.
func TestLateProbe(t *testing.T) {
	until := make(chan struct{})
	w, err := newWatch(What{Role: "app"})
	if err != nil {
		t.Fatal(err)
	}
	w.probes = append(w.probes, &watched{name: "stuck", probe: stuck{until}, close: func() error { return nil }})
	defer w.close()
	var p page
	once := func(limit time.Duration) (string, []failure) {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		failed := w.sample(ctx, &p)
		return string(p.bytes()), failed
	}
	for range 2 {
		text, failed := once(100 * time.Millisecond)
		if len(failed) != 1 || failed[0].probe != "stuck" || !strings.Contains(text, `plimsoll_probe_up{probe="host",role="app"} 1`) || !strings.Contains(text, `plimsoll_probe_up{probe="stuck",role="app"} 0`) {
			t.Errorf("failed %v, page:\n%s", failed, text)
		}
	}
	close(until)
	w.running.Wait()
	text, failed := once(10 * time.Second)
	if len(failed) != 0 || strings.Count(text, "late{") != 1 {
		t.Errorf("failed %v, page:\n%s", failed, text)
	}
}

// Each reader has probes of its own, a bounded number of times, and a place is free again when its connection has
// ended.
func TestReaders(t *testing.T) {
	s, url, _ := serve(t, Config{})
	conf := RemoteConfig{URL: url, Fingerprint: s.Fingerprint()}
	var all []*Remote
	for range MaxReaders {
		r := remote(t, conf)
		if _, err := sample(t, r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	if _, err := sample(t, remote(t, conf)); err == nil || !strings.Contains(err.Error(), "8 readers are here already") {
		t.Errorf("one reader too many: %v", err)
	}
	_ = all[0].Close()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		_, err := sample(t, remote(t, conf))
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// A certificate of an authority is verified by its name.
func TestCA(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	make := func(ip string) (tls.Certificate, string) {
		c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.ParseIP(ip)}}
		der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "ca.pem")
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
	}
	for ip, want := range map[string]string{"127.0.0.1": "", "127.0.0.2": "certificate is valid for 127.0.0.2, not 127.0.0.1"} {
		cert, ca := make(ip)
		_, url, _ := serve(t, Config{Certificate: cert})
		_, err := sample(t, remote(t, RemoteConfig{URL: url, CA: ca}))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", ip, err, want)
		}
	}
}

// The four instants of a request: the agent's clock is 30 ms ahead, the way takes 4 ms there and 4 back, the sample
// 10 ms.
func TestClockOffset(t *testing.T) {
	sent := time.Unix(1_700_000_000, 0)
	a := answer{sent: sent, came: sent.Add(18 * time.Millisecond)}
	c := a.clock(seconds(sent.Add(34*time.Millisecond)), seconds(sent.Add(44*time.Millisecond)))
	if c.offset.Round(10*time.Microsecond) != 30*time.Millisecond || c.way.Round(10*time.Microsecond) != 8*time.Millisecond {
		t.Errorf("ahead %v, way %v", c.offset, c.way)
	}
}

// Of eight measurements the one with the shortest way counts, and old ones are forgotten.
func TestBestClock(t *testing.T) {
	r := &Remote{}
	at := func(offset, way time.Duration) {
		r.clocks[r.n%len(r.clocks)] = clock{offset, way}
		r.n++
	}
	at(time.Second, time.Millisecond)
	for i := range 7 {
		at(time.Duration(i), 10*time.Millisecond)
	}
	if c := r.best(); c.offset != time.Second {
		t.Errorf("offset %v, want that of the shortest way", c.offset)
	}
	at(5, 9*time.Millisecond)
	if c := r.best(); c.offset != 5 || c.way != 9*time.Millisecond {
		t.Errorf("%+v after the best has become old", c)
	}
}

func TestReadToken(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"right":          {geheim + "\n", 0o600, ""},
		"group":          {geheim, 0o640, ""},
		"others read":    {geheim, 0o604, "has mode 0604, so others may read or change it; run: chmod 600"},
		"group writes":   {geheim, 0o660, "has mode 0660"},
		"short":          {"geheim", 0o600, "want 16 to 4096 characters"},
		"empty":          {"", 0o600, "want 16 to 4096 characters"},
		"two lines":      {geheim + "\n" + geheim, 0o600, "want one line of visible ASCII characters"},
		"longer than ok": {strings.Repeat("a", 5000), 0o600, "want 16 to 4096 characters"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "token")
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(file, c.mode); err != nil {
				t.Fatal(err)
			}
			got, err := ReadToken(file)
			if c.want == "" {
				if err != nil || got != geheim {
					t.Errorf("%q, %v", got, err)
				}
			} else if err == nil || got != "" || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "geheim") {
				t.Errorf("%q, error %v; want %q", got, err, c.want)
			}
		})
	}
	if _, err := ReadToken(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is a directory; want a regular file") {
		t.Errorf("a directory: %v", err)
	}
}

// A written page is read unchanged, and reading it again gives the same.
func FuzzPage(f *testing.F) {
	f.Add(small)
	f.Add("a 1\n# EOF\n")
	f.Add("a{b=\"x\\\"\\\\\\n\"} NaN\n# EOF\n")
	f.Fuzz(func(t *testing.T, in string) {
		first := parser{add: []series.Label{{Name: "instance", Value: "x-0"}}}
		got, err := first.parse([]byte(in), nil)
		if err != nil {
			return
		}
		var p page
		p.add(got...)
		text := string(p.bytes())
		var second parser
		again, err := second.parse([]byte(text), nil)
		if err != nil || len(again) != len(got) {
			t.Fatalf("%q became %q: %v", in, text, err)
		}
		p.add(again...)
		if third := string(p.bytes()); third != text {
			t.Fatalf("%q became %q and then %q", in, text, third)
		}
	})
}
