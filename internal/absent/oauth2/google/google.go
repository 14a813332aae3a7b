// Package google has the name that Prometheus's remote write mentions of the package that asks
// Google for tokens.
package google

import (
	"context"

	"golang.org/x/oauth2"
)

// Credentials would let a client in.
type Credentials struct{}

// FindDefaultCredentials returns an error.
func FindDefaultCredentials(context.Context, ...string) (*Credentials, error) {
	return nil, oauth2.ErrAbsent
}
