// Package policy has the names that Prometheus's remote write mentions of the Azure SDK's package.
package policy

// TokenRequestOptions say what a token is for.
type TokenRequestOptions struct{ Scopes []string }
