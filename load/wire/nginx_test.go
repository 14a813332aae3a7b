package wire

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const nginxConf = `
daemon off; worker_processes 1; pid DIR/pid; error_log DIR/error.log;
events { worker_connections 256; }
http {
	access_log off; keepalive_timeout 60s; keepalive_requests 1000; client_max_body_size 1m;
	client_body_temp_path DIR/t1; proxy_temp_path DIR/t2; fastcgi_temp_path DIR/t3; uwsgi_temp_path DIR/t4; scgi_temp_path DIR/t5;
	gzip on; gzip_types *; gzip_min_length 1;
	ssl_certificate DIR/cert.pem; ssl_certificate_key DIR/key.pem;
	server {
		listen 127.0.0.1:PLAIN; listen 127.0.0.1:SECURE ssl; listen 127.0.0.1:SECURE2 ssl http2;
		root DIR/www;
		location /static/ { gzip off; }
		location /zipped/ { rewrite ^/zipped/(.*) /static/$1 break; }
		location /proxied/ { gzip off; proxy_http_version 1.1; proxy_buffering off; proxy_pass http://127.0.0.1:PLAIN/zipped/; }
		location = /text { default_type text/plain; return 201 'hello'; }
		location = /empty { return 204; }
		location = /moved { return 302 /text; }
		location = /last { keepalive_timeout 0; return 200 'last'; }
		location = /once { keepalive_requests 1; return 200 'once'; }
		location = /dead { return 444; }
		location = /upload { proxy_pass http://127.0.0.1:PLAIN/text; proxy_method GET; }
	}
}`

// startNginx returns the ports, by the name that the configuration gives them.
func startNginx(t *testing.T) (ports map[string]int, client *tls.Config) {
	path, err := exec.LookPath("nginx")
	if err != nil {
		if path = "/usr/sbin/nginx"; !exists(path) {
			if os.Getenv("CI") != "" {
				t.Fatal("nginx is not installed; run scripts/setup.sh")
			}
			t.Skip("nginx is not installed; scripts/setup.sh installs it")
		}
	}
	dir := t.TempDir()
	server, client := certified()
	pair := server.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	must(t, err)
	must(t, os.MkdirAll(filepath.Join(dir, "www", "static"), 0o755))
	// A worker of root's nginx runs as user nobody.
	for _, d := range []string{dir, filepath.Join(dir, "www"), filepath.Join(dir, "www", "static")} {
		must(t, os.Chmod(d, 0o755))
	}
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	ports = map[string]int{}
	conf := strings.ReplaceAll(nginxConf, "DIR", dir)
	for _, name := range []string{"SECURE2", "PLAIN", "SECURE"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		defer l.Close() // only now, so that each is another one
		ports[name] = l.Addr().(*net.TCPAddr).Port
		conf = strings.ReplaceAll(conf, ":"+name, fmt.Sprintf(":%d", ports[name]))
		l.Close()
	}
	files := map[string][]byte{"nginx.conf": []byte(conf),
		"cert.pem": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}),
		"key.pem":  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})}
	for _, n := range sizes {
		files[fmt.Sprintf("www/static/%d", n)] = pattern(n)
	}
	for name, data := range files {
		must(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	cmd := exec.Command(path, "-p", dir, "-c", filepath.Join(dir, "nginx.conf"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	must(t, cmd.Start())
	t.Cleanup(func() { // SIGINT: the master ends its worker first
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(10 * time.Second); ; {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", ports["PLAIN"]))
		if err == nil {
			conn.Close()
			return ports, client
		}
		if time.Now().After(deadline) {
			t.Fatalf("nginx does not listen: %v\n%s", err, out.String())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

var sizes = []int{0, 1, 100, 3500, 4096, 70_000, 1 << 20}

func TestNginx(t *testing.T) {
	ports, conf := startNginx(t)
	for _, name := range []string{"PLAIN", "SECURE", "SECURE2"} {
		t.Run(name, func(t *testing.T) {
			scheme := "http"
			if strings.HasPrefix(name, "SECURE") {
				scheme = "https"
			}
			second := strings.HasSuffix(name, "2")
			c := newClient(t, Config{URL: fmt.Sprintf("%s://127.0.0.1:%d", scheme, ports[name]),
				tls: conf, HTTP2: second})
			do := func(req *Request) *Response {
				t.Helper()
				resp, err := c.Do(t.Context(), req)
				if err != nil {
					t.Fatalf("%s %s: %v", req.method(), req.Path, err)
				}
				if c.conn != nil && second != (c.h2 != nil) {
					t.Fatalf("HTTP/2 spoken: %v", c.h2 != nil)
				}
				return resp
			}
			dials := 0
			for _, kind := range []string{"static", "zipped", "proxied"} {
				bodies(t, c, "/"+kind+"/%d", sizes, func(method string, n int, resp *Response) {
					if (resp.Header.Get("Content-Encoding") == "gzip") != (kind != "static" &&
						n > 0) {
						t.Errorf("%s %s of %d: encoding %q", method, kind, n,
							resp.Header.Get("Content-Encoding"))
					}
					if resp.Dialed {
						dials++
					}
				})
			}
			if dials != 1 {
				t.Errorf("%d connections, want 1", dials)
			}
			// Encoded as requested, and left to the caller.
			resp := do(&Request{Path: "/zipped/3500", Header: []Field{{"Accept-Encoding", "gzip"}}})
			if z, err := gzip.NewReader(bytes.NewReader(resp.Body)); err != nil ||
				int(resp.BodyBytes) >= 3500 {
				t.Errorf("gzip that was asked for: %d bytes, %v", resp.BodyBytes, err)
			} else {
				z.Close()
			}
			for _, tt := range []struct {
				method, path string
				body         int
				status       int
				want         string
			}{
				{"GET", "/text", 0, 201, "hello"},
				{"GET", "/empty", 0, 204, ""},
				{"GET", "/moved", 0, 302, ""},
				{"GET", "/absent", 0, 404, ""},
				{"POST", "/static/100", 10, 405, ""},
				{"POST", "/upload", 0, 201, "hello"},
				{"POST", "/upload", 500_000, 201, "hello"},
				{"POST", "/upload", 2 << 20, 413, ""},
				{"GET", "/last", 0, 200, "last"},
				{"GET", "/once", 0, 200, "once"},
				{"GET", "/text", 0, 201, "hello"},
			} {
				resp := do(&Request{Method: tt.method, Path: tt.path, Body: pattern(tt.body)})
				if resp.Status != tt.status || tt.want != "" && string(resp.Body) != tt.want {
					t.Errorf(
						"%s %s, %d bytes: %d %q, want %d %q",
						tt.method,
						tt.path,
						tt.body,
						resp.Status,
						resp.Body,
						tt.status,
						tt.want,
					)
				}
			}
			// nginx closes without an answer, to the repetition too
			for _, method := range []string{"POST", "GET"} {
				resp, err := c.Do(t.Context(), &Request{Method: method, Path: "/dead"})
				if err == nil || resp.Retried && method == "POST" {
					t.Errorf(
						"%s /dead: %d, repeated %v, want an error",
						method,
						resp.Status,
						resp.Retried,
					)
				}
			}
			if resp := do(&Request{Path: "/text"}); string(resp.Body) != "hello" {
				t.Errorf("afterwards: %q", resp.Body)
			}
		})
	}
}
