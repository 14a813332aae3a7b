package script

import "github.com/grafana/sobek"

// limits bound what scripts compute and hold.
type limits struct{}

func (*limits) harden(*sobek.Runtime) error { return nil }

func (*limits) enter(*sobek.Runtime, bool) stretch { return unlimited{} }

type unlimited struct{}

func (unlimited) Pause()  {}
func (unlimited) Resume() {}
func (unlimited) Leave()  {}
