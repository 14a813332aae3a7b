// Package oauth2 has the names that Prometheus's HTTP client mentions of the package that asks for
// tokens. It asks nobody, and sends no request that would need a token.
package oauth2

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// ErrAbsent reports that the package is missing.
var ErrAbsent = errors.New("this program is built without OAuth 2")

// HTTPClient is the key of a client in a context.
var HTTPClient struct{}

// Token is an access token of a server.
type Token struct {
	AccessToken, TokenType string
	Expiry                 time.Time
	ExpiresIn              int64
}

// TokenSource gives tokens.
type TokenSource interface{ Token() (*Token, error) }

// NoTokens is a source that returns ErrAbsent.
type NoTokens struct{}

// Token returns ErrAbsent.
func (NoTokens) Token() (*Token, error) { return nil, ErrAbsent }

// ReuseTokenSource returns a source that returns ErrAbsent.
func ReuseTokenSource(*Token, TokenSource) TokenSource { return NoTokens{} }

// Transport would add tokens to requests.
type Transport struct {
	Source TokenSource
	Base   http.RoundTripper
}

// RoundTrip returns ErrAbsent.
func (*Transport) RoundTrip(*http.Request) (*http.Response, error) { return nil, ErrAbsent }

// NewClient returns a client whose requests return ErrAbsent.
func NewClient(context.Context, TokenSource) *http.Client {
	return &http.Client{Transport: &Transport{}}
}

// RetrieveError is a server's refusal.
type RetrieveError struct {
	Response *http.Response
	Body     []byte
}

func (*RetrieveError) Error() string { return "oauth2: cannot fetch token" }
