// Package azcore has the names that Prometheus's remote write mentions of the Azure SDK's package.
package azcore

import (
	"context"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// AccessToken is a token and its end.
type AccessToken struct {
	Token     string
	ExpiresOn time.Time
}

// TokenCredential gives tokens.
type TokenCredential interface {
	GetToken(ctx context.Context, options policy.TokenRequestOptions) (AccessToken, error)
}

// ClientOptions say where a client asks.
type ClientOptions struct{ Cloud cloud.Configuration }
