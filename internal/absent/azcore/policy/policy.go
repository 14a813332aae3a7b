// Package policy has the names that Prometheus's remote write mentions of the Azure SDK's package.
package policy

// TokenRequestOptions describe the purpose of a token.
type TokenRequestOptions struct{ Scopes []string }
