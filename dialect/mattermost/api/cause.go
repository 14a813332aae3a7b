package api

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/load/wire"
)

// Causes of failures that are not the application's, each with its remedy.
const (
	challenged = "challenge page of a proxy (allow this host's address there)"
	limited    = "too many requests: a rate limit of the server or a proxy"
	forbidden  = "forbidden by a proxy, not by the application"

	unreached   = "a proxy could not reach the application"
	unavailable = "a proxy refused it: a rate limit such as nginx's limit_req, " +
		"or no server behind the proxy"
	tlsPort   = "the port speaks TLS: write the address with https://"
	noHTTP2   = "the server chose no HTTP/2 by ALPN: remove target.http, or switch h2 on there"
	plainPort = "the port speaks no TLS: write the address with http://"
	authority = "a private authority signed the certificate: name its file with -ca or target.ca, " +
		"and on other hosts of agents in SSL_CERT_FILE"
	ownCert = "the port requires a client certificate (mTLS), and there is none: " +
		"exempt this host from it, or write the address of a server behind that proxy"
	pageCause = "a page in place of the API's answer, such as the login of a proxy: let it pass " +
		root + " on, or write the server's own address"
	noAPI     = "there is no API at this address: write it with the path of the server's SiteURL"
	noUpgrade = "the WebSocket's Upgrade did not reach the application: let the proxy pass it on " +
		"(nginx: proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; " +
		`proxy_set_header Connection "upgrade")`
	noPort = "this host has no free port towards the address: " +
		"widen net.ipv4.ip_local_port_range, or give the generator more addresses (placement.source)"
)

// Refused reports whether, by the text of an [OpError], a proxy or a rate limit refused the call,
// which therefore is not evidence about the application.
func Refused(text string) bool {
	return strings.Contains(text, challenged) || strings.Contains(text, limited) ||
		strings.Contains(text, forbidden)
}

// refusal explains an answer with an unwanted status: the application's own error, or a cause
// before it.
func refusal(e *OpError, resp *wire.Response) {
	// Old servers type the answer for an unknown path as plain text.
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") ||
		bytes.HasPrefix(resp.Body, []byte(`{"id":"`)) {
		// A half-read error is still an error.
		_ = eachField(resp.Body, func(key, value []byte) error {
			if string(key) == "id" && e.Code == "" {
				e.Code = plain.ID(string(text(value)))
			}
			return nil
		})
	}
	e.After = retryAfter(resp.Header.Get("Retry-After"))
	switch {
	case challenge(resp):
		e.Cause = challenged
	case resp.Status >= 300 && resp.Status < 400:
		e.Cause = redirected(resp.Header.Get("Location"))
	default:
		e.Cause = statusCause(resp.Status, e.Code, resp.Body)
	}
}

// statusCause is the cause of an answer with a status of 400 or more.
func statusCause(status int, code string, body []byte) string {
	switch {
	case status == 429:
		return limited
	case code != "":
		return ""
	case status == 400 && contains(body, "plain http request was sent to https",
		"http request to an https server", "speaking plain http to an ssl-enabled"):
		return tlsPort
	case (status == 400 || status == 403 || status == 496) &&
		contains(body, "no required ssl certificate", "client certificate"):
		return ownCert
	case status == 403:
		return forbidden
	case status == 401 && contains(body, "<html"):
		return pageCause
	case status == 404:
		return noAPI
	case status == 503:
		return unavailable
	case status == 502 || status == 504:
		return unreached
	}
	return ""
}

// contains reports whether the beginning of a page holds one of some texts, in lower case.
func contains(page []byte, texts ...string) bool {
	page = bytes.ToLower(page[:min(len(page), 16<<10)])
	for _, t := range texts {
		if bytes.Contains(page, []byte(t)) {
			return true
		}
	}
	return false
}

// redirected is the cause of an answer that names another place.
func redirected(location string) string {
	u, err := url.Parse(location)
	if err != nil || location == "" {
		return "a redirect to nowhere; write the address at which the server itself answers"
	}
	// No user and query: they may hold a secret.
	place := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	remedy := ", which is not the API: let the proxy pass " + root +
		" on, or write the server's own address"
	if base, _, api := strings.Cut(u.Path, root+"/"); api && u.Host != "" {
		place.Path = base
		remedy = "; write that as the address"
	}
	return "a redirect to " + plain.Excerpt(place.String(), mostCause) + remedy
}

// retryAfter reads the header of that name, in seconds or as a date; 0 if it is neither.
func retryAfter(v string) time.Duration {
	if n, err := strconv.Atoi(v); (err == nil || errors.Is(err, strconv.ErrRange)) && n > 0 {
		return time.Duration(min(n, 3600)) * time.Second
	}
	if at, err := time.Parse("Mon, 02 Jan 2006 15:04:05 GMT", v); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// brokenCause is the cause of a connection or handshake that failed.
func brokenCause(err error) string {
	if h, ok := errors.AsType[*wire.HandshakeError](err); ok {
		if h.Status < 300 || h.Status == 400 || h.Status == 426 { // 0 is a 101 without its headers
			return noUpgrade
		}
		return statusCause(h.Status, "", h.Body)
	}
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	text := err.Error()
	switch {
	case unknown:
		return authority
	case noTLS:
		return plainPort
	case errors.Is(err, wire.ErrNoHTTP2):
		return noHTTP2
	case errors.Is(err, wire.ErrTLSPort):
		return tlsPort
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return noPort
	case strings.Contains(text, "remote error: tls: certificate required"),
		strings.Contains(text, "remote error: tls: bad certificate"):
		return ownCert
	}
	return ""
}

var challengeMarks = []string{
	"challenge-platform", "just a moment", "captcha", "cf-chl", "attention required",
	"checking your browser", "ddos protection", "_incapsula_", "enable javascript and cookies",
}

// challenge reports whether the answer is a page that wants to see a person.
func challenge(resp *wire.Response) bool {
	if strings.EqualFold(resp.Header.Get("Cf-Mitigated"), "challenge") {
		return true
	}
	return strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") &&
		contains(resp.Body, challengeMarks...)
}
