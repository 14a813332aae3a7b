package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"syscall"
)

// A PlainError is an error that a probe found itself, in our own words, which holds no part of an
// address, user or password.
type PlainError string

func (f PlainError) Error() string { return string(f) }

// ConnectionError describes a connection error in words that hold no part of its address, user or
// password; the errors of drivers quote them. A [PlainError] stays as it is.
func ConnectionError(err error) error {
	var (
		found     PlainError
		errno     syscall.Errno
		dns       *net.DNSError
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError
		timeout   net.Error
	)
	switch {
	case errors.As(err, &found):
		return found
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return errors.New("no answer in time; is the server overloaded, or a firewall between?")
	case errors.As(err, &dns):
		return errors.New("the host's name cannot be resolved")
	case errors.As(err, &authority), errors.As(err, &name), errors.As(err, &invalid):
		return errors.New(
			"the server's certificate is not trusted here; give its authority, or change the TLS mode, in the DSN",
		)
	case errors.As(err, &record):
		return errors.New("the server does not speak TLS; change the TLS mode in the DSN")
	case errors.As(err, &errno):
		return errno
	case errors.As(err, &timeout) && timeout.Timeout():
		return errors.New("no answer in time; is the server overloaded, or a firewall between?")
	}
	return errors.New("the connection failed")
}
