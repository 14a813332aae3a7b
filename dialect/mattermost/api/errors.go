package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"plimsoll/internal/plain"
	"plimsoll/load/measure"
	"plimsoll/load/wire"
)

// An OpError is a call that did not have its effect.
type OpError struct {
	Op     string // name of the op, without prefix
	Class  measure.Class
	Status int // of the answer; 0 if there was none
	// The server's identifier of the error ("api.context.permissions.app_error") as [plain.ID] shows it, or "".
	Code  string
	Proxy string // interference between client and server ("challenge page", ...), or ""
	Err   error  // the cause, if it is not just the status
	// Expected reports that the answer is one of those of [Expected]: recorded as ok, although the call did not have
	// its effect.
	Expected bool
}

// Error names the op and the known cause. It holds nothing of the request but its name.
func (e *OpError) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	b.WriteString(": ")
	if e.Status != 0 {
		fmt.Fprintf(&b, "status %d ", e.Status)
	}
	if e.Proxy != "" {
		b.WriteString(e.Proxy)
		b.WriteByte(' ')
	}
	if e.Code != "" {
		b.WriteString(e.Code)
		b.WriteByte(' ')
	}
	if e.Err != nil {
		b.WriteString(plain.Excerpt(e.Err.Error(), mostCause))
		b.WriteByte(' ')
	}
	fmt.Fprintf(&b, "(%s)", e.Class)
	return b.String()
}

// mostCause bounds the text of a cause, in bytes: it may hold text of the server.
const mostCause = 500

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// LacksLicense reports whether the server refused for want of a license, which it does with various statuses.
func (e *OpError) LacksLicense() bool { return e.Status >= 400 && strings.Contains(e.Code, "license") }

// over reports whether err comes from the end of the run, not from the server.
func over(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled)
}

// Answers of a proxy in the place of the application.
const (
	challenged = "challenge page of a proxy (allow this host's address there)"
	limited    = "too many requests: a rate limit of the server or a proxy"
	forbidden  = "forbidden by a proxy, not by the application"
)

// Refused reports whether, by the text of an [OpError], a proxy or a rate limit refused the call, which therefore is
// not evidence about the application.
func Refused(text string) bool {
	return strings.Contains(text, challenged) || strings.Contains(text, limited) || strings.Contains(text, forbidden)
}

// refusal explains an answer with an unwanted status: the application's own error, or someone in between.
func refusal(e *OpError, resp *wire.Response) {
	// Old servers type the answer for an unknown path as plain text.
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") || bytes.HasPrefix(resp.Body, []byte(`{"id":"`)) {
		_ = eachField(resp.Body, func(key, value []byte) error { // a half-read error is still an error
			if string(key) == "id" && e.Code == "" {
				e.Code = plain.ID(string(text(value)))
			}
			return nil
		})
	}
	switch {
	case challenge(resp):
		e.Proxy = challenged
	case resp.Status == 429:
		e.Proxy = limited
	case resp.Status == 403 && e.Code == "":
		e.Proxy = forbidden
	case e.Code == "" && resp.Status >= 502 && resp.Status <= 504:
		e.Proxy = "a proxy could not reach the application"
	}
}

var challengeMarks = [][]byte{
	[]byte("challenge-platform"), []byte("just a moment"), []byte("captcha"), []byte("cf-chl"), []byte("attention required"),
	[]byte("checking your browser"), []byte("ddos protection"), []byte("_incapsula_"), []byte("enable javascript and cookies"),
}

// challenge reports whether the answer is a page that wants to see a person.
func challenge(resp *wire.Response) bool {
	if strings.EqualFold(resp.Header.Get("Cf-Mitigated"), "challenge") {
		return true
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		return false
	}
	page := bytes.ToLower(resp.Body[:min(len(resp.Body), 16<<10)])
	for _, mark := range challengeMarks {
		if bytes.Contains(page, mark) {
			return true
		}
	}
	return false
}
