// Package metadata has the names that golang.org/x/oauth2/google mentions of the client of Google's metadata server.
// It says that this host is not one of Google's, and asks nobody.
package metadata

import "errors"

// ErrAbsent says that the client is not there.
var ErrAbsent = errors.New("this program is built without the client of Google's metadata server")

// NotDefinedError is a value that the server does not have.
type NotDefinedError string

func (e NotDefinedError) Error() string { return "metadata: not defined: " + string(e) }

// OnGCE reports false.
func OnGCE() bool { return false }

// ProjectID returns ErrAbsent.
func ProjectID() (string, error) { return "", ErrAbsent }

// Get returns ErrAbsent.
func Get(string) (string, error) { return "", ErrAbsent }
