// Package azidentity has the names that Prometheus's remote write mentions of the Azure SDK's
// package. Every way to a credential ends in ErrAbsent.
package azidentity

import (
	"crypto"
	"crypto/x509"
	"errors"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// ErrAbsent reports that the SDK is missing.
var ErrAbsent = errors.New("this program is built without the Azure SDK")

// ClientID names a managed identity.
type ClientID string

// ManagedIdentityCredentialOptions configure NewManagedIdentityCredential.
type ManagedIdentityCredentialOptions struct {
	azcore.ClientOptions
	ID ClientID
}

// NewManagedIdentityCredential returns ErrAbsent.
func NewManagedIdentityCredential(
	*ManagedIdentityCredentialOptions,
) (azcore.TokenCredential, error) {
	return nil, ErrAbsent
}

// WorkloadIdentityCredentialOptions configure NewWorkloadIdentityCredential.
type WorkloadIdentityCredentialOptions struct {
	azcore.ClientOptions
	ClientID, TenantID, TokenFilePath string
}

// NewWorkloadIdentityCredential returns ErrAbsent.
func NewWorkloadIdentityCredential(
	*WorkloadIdentityCredentialOptions,
) (azcore.TokenCredential, error) {
	return nil, ErrAbsent
}

// ClientSecretCredentialOptions configure NewClientSecretCredential.
type ClientSecretCredentialOptions struct{ azcore.ClientOptions }

// NewClientSecretCredential returns ErrAbsent.
func NewClientSecretCredential(
	_, _, _ string,
	_ *ClientSecretCredentialOptions,
) (azcore.TokenCredential, error) {
	return nil, ErrAbsent
}

// DefaultAzureCredentialOptions configure NewDefaultAzureCredential.
type DefaultAzureCredentialOptions struct {
	azcore.ClientOptions
	TenantID string
}

// NewDefaultAzureCredential returns ErrAbsent.
func NewDefaultAzureCredential(*DefaultAzureCredentialOptions) (azcore.TokenCredential, error) {
	return nil, ErrAbsent
}

// ClientCertificateCredentialOptions configure NewClientCertificateCredential.
type ClientCertificateCredentialOptions struct {
	azcore.ClientOptions
	SendCertificateChain bool
}

// NewClientCertificateCredential returns ErrAbsent.
func NewClientCertificateCredential(
	_, _ string,
	_ []*x509.Certificate,
	_ crypto.PrivateKey,
	_ *ClientCertificateCredentialOptions,
) (azcore.TokenCredential, error) {
	return nil, ErrAbsent
}

// ParseCertificates returns ErrAbsent.
func ParseCertificates(_, _ []byte) ([]*x509.Certificate, crypto.PrivateKey, error) {
	return nil, nil, ErrAbsent
}
