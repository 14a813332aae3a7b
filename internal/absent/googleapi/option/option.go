// Package option has the names that Prometheus's remote write mentions of the Google API client's
// package.
package option

// ClientOption would set a client up.
type ClientOption interface{ absent() }

// CredentialsType is the kind of a file of credentials.
type CredentialsType string

// ServiceAccount is the file of a service account.
const ServiceAccount CredentialsType = "service_account"

type nothing struct{}

func (nothing) absent() {}

// WithScopes sets nothing.
func WithScopes(...string) ClientOption { return nothing{} }

// WithAuthCredentialsFile sets nothing and reads no file.
func WithAuthCredentialsFile(CredentialsType, string) ClientOption { return nothing{} }

// WithCredentials sets nothing.
func WithCredentials(any) ClientOption { return nothing{} }
