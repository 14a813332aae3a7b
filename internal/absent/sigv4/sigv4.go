// Package sigv4 has the name that Prometheus's configuration mentions of the package that signs
// requests for AWS.
package sigv4

import "errors"

// ErrAbsent reports that the AWS SDK is missing.
var ErrAbsent = errors.New("this program is built without the AWS SDK")

// SigV4Config would hold keys of AWS.
type SigV4Config struct{}

// UnmarshalYAML returns ErrAbsent, so that no configuration can ask for it unheard.
func (*SigV4Config) UnmarshalYAML(func(any) error) error { return ErrAbsent }
