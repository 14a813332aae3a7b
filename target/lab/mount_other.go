//go:build !linux

package lab

import "errors"

const detach = 0

// mountImage is for Linux alone.
func mountImage(string, string) error { return errors.ErrUnsupported }
