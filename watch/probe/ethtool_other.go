//go:build !linux

package probe

import "errors"

var errNotLinux = errors.New("supported on Linux only")

func ringsOf(string) (ring, error)               { return ring{}, errNotLinux }
func offloadsOf(string) (map[string]bool, error) { return nil, errNotLinux }
func clockSynced() (bool, error)                 { return false, errNotLinux }

type noDriver struct{}

func newEthtool(string) ethtoolDriver { return noDriver{} }

func (noDriver) rings() (ring, error)     { return ring{}, errNotLinux }
func (noDriver) names() ([]string, error) { return nil, errNotLinux }
func (noDriver) values([]uint64) error    { return errNotLinux }
