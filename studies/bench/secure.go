package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"plimsoll/stats"
	"plimsoll/studies/study"
	"plimsoll/target/lab"
)

// proxyConf has nginx end TLS before the null server, which counts the requests.
const proxyConf = `
daemon off; worker_processes 1; pid DIR/pid; error_log DIR/error.log;
events { worker_connections 1024; }
http {
	access_log off; keepalive_timeout 1h; keepalive_requests 1000000000;
	client_body_temp_path DIR/t1; proxy_temp_path DIR/t2; fastcgi_temp_path DIR/t3;
	uwsgi_temp_path DIR/t4; scgi_temp_path DIR/t5;
	ssl_certificate DIR/cert.pem; ssl_certificate_key DIR/key.pem;
	upstream null { server NULL; keepalive 128; keepalive_requests 1000000000; }
	server {
		listen ADDR ssl http2;
		location / { proxy_pass http://null; proxy_http_version 1.1; proxy_set_header Connection ""; }
	}
}
`

// secure is the row of the closed loop over TLS and over HTTP/2, each behind nginx.
func (s *setup) secure(ctx context.Context, r *report) error {
	dir, err := os.MkdirTemp("", "bench-secure-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := certificate(dir); err != nil {
		return err
	}
	c := fmt.Sprint(connections)
	for _, row := range []struct{ name, flag, peer, args string }{
		{"TLS", "-http2=false", "wrk", "-t1 -c" + c + " -d3600 {url}/"},
		{"HTTP/2", "-http2", "h2load", "-t1 -c" + c + " -m1 --duration=3600 --warm-up-time=1 {url}/"},
	} {
		f := figure{
			Name: row.name + " behind nginx, 64 connections: requests per CPU-second, of " + row.peer + "'s",
			Unit: "×",
			Goal: ">= 0.95",
		}
		self := func(engine string) peer {
			return peer{
				name: engine,
				warm: time.Second,
				start: func(ctx context.Context, url string) (*lab.Process, error) {
					return s.start(ctx, "", "/usr/bin/env", "SSL_CERT_FILE="+filepath.Join(dir, "cert.pem"),
						s.self, "client", "-engine="+engine, row.flag, "-url="+url, "-n="+c)
				},
			}
		}
		clients := []peer{self("plimsoll"), self("nethttp")}
		if s.find(row.peer) != "" && !s.alone {
			clients = append(clients, peer{
				name:  row.peer,
				warm:  time.Second,
				start: s.theirs(row.peer, "", row.args),
			})
		}
		per, err := s.behind(ctx, dir, clients)
		if err != nil {
			return err
		}
		if len(clients) == 2 {
			f.Failure = row.peer + " is not installed"
		}
		f.Value = spreadOf(ratios(per["plimsoll"], per[row.peer]))
		f.Met = f.Value.Median >= 0.95
		f.Note = fmt.Sprintf(
			"%.0f requests per CPU-second; %.2f × net/http",
			stats.Median(per["plimsoll"]),
			stats.Median(ratios(per["plimsoll"], per["nethttp"])),
		)
		fmt.Fprintf(os.Stderr, "bench: %s: %s\n", row.name, f.Note)
		r.Figures = append(r.Figures, f)
	}
	return nil
}

// behind returns the requests per CPU-second of each client behind nginx, by rounds.
func (s *setup) behind(
	ctx context.Context,
	dir string,
	clients []peer,
) (map[string][]float64, error) {
	length := 4 * time.Second
	if s.short {
		length = 2 * time.Second
	}
	per := map[string][]float64{}
	for round := range s.rounds {
		err := func() error {
			n, err := s.serve(ctx)
			if err != nil {
				return err
			}
			defer n.stop()
			url, stop, err := s.proxy(ctx, dir, n)
			if err != nil {
				return err
			}
			defer stop()
			for i := range clients {
				c := clients[(i+round)%len(clients)]
				w, err := s.one(ctx, n, url, c, length)
				if err != nil {
					return fmt.Errorf("%s: %w", c.name, err)
				}
				per[c.name] = append(per[c.name], w.requests/w.cpu)
			}
			return nil
		}()
		if err != nil {
			return nil, err
		}
	}
	return per, nil
}

// proxy starts nginx on the core of the server and returns its address.
func (s *setup) proxy(
	ctx context.Context,
	dir string,
	n *null,
) (url string, stop func(), err error) {
	path, err := exec.LookPath("nginx")
	if err != nil {
		if path = "/usr/sbin/nginx"; !exists(path) {
			return "", nil, errors.New("nginx is not installed (scripts/setup.sh)")
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	at := l.Addr().String()
	l.Close()
	conf := filepath.Join(dir, "nginx.conf")
	text := strings.NewReplacer("DIR", dir, "NULL", strings.TrimPrefix(n.url, "http://"), "ADDR", at).
		Replace(proxyConf)
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		return "", nil, err
	}
	p, err := lab.Start(ctx, lab.Spec{
		Name: "nginx",
		Path: path,
		Args: []string{"-p", dir, "-c", conf},
		CPUs: []int{s.server},
	})
	if err != nil {
		return "", nil, err
	}
	for range 500 {
		c, err := net.Dial("tcp", at)
		if err == nil {
			c.Close()
			return "https://" + at, func() { halt(p) }, nil
		}
		if err := study.Pause(ctx, 10*time.Millisecond); err != nil {
			break
		}
	}
	halt(p)
	return "", nil, fmt.Errorf("nginx does not listen: %s", p.Tail())
}

// certificate writes a certificate for 127.0.0.1 and its key below dir.
func certificate(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	now := time.Now()
	c := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.Add(24 * time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return errors.Join(
		os.Chmod(dir, 0o755), // nginx works as another user
		os.WriteFile(filepath.Join(dir, "cert.pem"), pem.EncodeToMemory(&pem.Block{
			Type:  "CERTIFICATE",
			Bytes: der,
		}), 0o644),
		os.WriteFile(filepath.Join(dir, "key.pem"), pem.EncodeToMemory(&pem.Block{
			Type:  "PRIVATE KEY",
			Bytes: secret,
		}), 0o600))
}
