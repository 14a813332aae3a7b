package preflight

import (
	"crypto/x509"
	"os"
	"path/filepath"

	"plimsoll/internal/files"
	"plimsoll/plan"
)

// mostAuthority bounds a file of certificates, in bytes: the system's own have a quarter of it.
const mostAuthority = 1 << 20

// Trust makes the authority whose certificate is in a file one of this process and of those that it
// starts, beside the authorities in the system's directories. It must be called before the first
// connection with TLS.
func Trust(file string) error {
	b, err := files.Read(file, mostAuthority)
	if err != nil {
		return err
	}
	if !x509.NewCertPool().AppendCertsFromPEM(b) {
		return plan.Usagef(
			"%s holds no certificate; want PEM, which begins with -----BEGIN CERTIFICATE-----",
			file,
		)
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	return os.Setenv("SSL_CERT_FILE", abs)
}
