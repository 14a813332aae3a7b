package sources

import (
	"context"
	"time"

	"plimsoll/target/lab"
	"plimsoll/watch/probe"
	"plimsoll/watch/series"
)

// HostSampler opens the probes of a host with users for one run. sample reads them, about once a
// second; the caller calls end.
func HostSampler() (
	sample func(context.Context, time.Time) ([]series.Sample, error), end func(), err error,
) {
	host, err := probe.NewAgentHost(lab.RunningProgram)
	if err != nil {
		return nil, nil, err
	}
	return host.Sample, host.Close, nil
}
