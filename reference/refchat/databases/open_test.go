package databases_test

import (
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/reference/refchat/databases"
)

// No error has the password of its DSN.
func TestSecretsStayOut(t *testing.T) {
	for _, dsn := range []string{
		"", "secret", "oracle://x:secret@h/d", "postgres://x:secret@127.0.0.1:1/d",
		"postgres://x:secret@[",
		"mysql://x:secret@tcp(127.0.0.1:1)/d", "mysql://x:secret",
	} {
		_, _, err := databases.Open(t.Context(), dsn, databases.Options{})
		failure.Hides(t, err, "secret")
	}
}
