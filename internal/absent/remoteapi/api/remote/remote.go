// Package remote has the names that Prometheus's configuration mentions of the client for remote
// write.
package remote

import "errors"

// WriteMessageType is a kind of message.
type WriteMessageType string

// WriteV1MessageType is the first kind.
const WriteV1MessageType WriteMessageType = "prometheus.WriteRequest"

// ErrAbsent reports that the client is missing.
var ErrAbsent = errors.New("this program is built without the client for remote write")

// Validate returns ErrAbsent.
func (WriteMessageType) Validate() error { return ErrAbsent }
