// Package pq has the names that embedded-postgres mentions of the driver by which it prepares a
// server that it has started. The program lets it unpack PostgreSQL, and starts the server itself.
package pq

import (
	"context"
	"database/sql/driver"
	"errors"
)

// ErrAbsent reports that the driver is missing.
var ErrAbsent = errors.New("this program is built without this driver of PostgreSQL")

// Connector would connect.
type Connector struct{}

// NewConnector returns ErrAbsent.
func NewConnector(string) (*Connector, error) { return nil, ErrAbsent }

// Connect returns ErrAbsent.
func (*Connector) Connect(context.Context) (driver.Conn, error) { return nil, ErrAbsent }

// Driver returns nil.
func (*Connector) Driver() driver.Driver { return nil }
