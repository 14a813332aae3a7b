// Package http has the name that Prometheus's remote write mentions of the Google API client's
// package.
package http

import (
	"context"
	"errors"
	"net/http"

	"google.golang.org/api/option"
)

// ErrAbsent reports that the client is missing.
var ErrAbsent = errors.New("this program is built without the Google API client")

// NewTransport returns ErrAbsent.
func NewTransport(
	context.Context,
	http.RoundTripper,
	...option.ClientOption,
) (http.RoundTripper, error) {
	return nil, ErrAbsent
}
