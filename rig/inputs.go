package rig

import (
	"errors"

	"plimsoll/internal/files"
)

// Limits of files that a person or a plan names, in bytes.
const (
	MaxSmall  = 1 << 20  // plans, specs, mixes, texts of reports
	MaxSecret = 64 << 10 // passwords, tokens, addresses, keys
	MaxAnswer = 16 << 20 // an answer of a Prometheus server
)

// unreadable reports whether a file that is there can never be read.
func unreadable(err error) bool {
	_, irregular := errors.AsType[*files.IrregularError](err)
	return irregular || errors.Is(err, files.ErrTooLarge)
}
