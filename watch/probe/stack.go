package probe

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/watch/series"
)

// Stack samples the network of one of several hosts that are network namespaces of this one, under
// the names of
// [HostProbe]: node_netstat_*, node_network_*{device}, and of node_sockstat_* what the kernel counts for each namespace
// (TCP_inuse, TCP_tw, TCP6_inuse, sockets_used). Everything else of such a host is this host's.
type Stack struct {
	name    string
	labels  []series.Label
	sources sources
	devices map[string][]series.Label // labels of a device, by its name
	out     sink
}

// ownSockets are the counts of sockets that a namespace has of its own; the kernel's others are of
// the whole machine.
var ownSockets = map[string]bool{
	"node_sockstat_TCP_inuse":    true,
	"node_sockstat_TCP_tw":       true,
	"node_sockstat_TCP6_inuse":   true,
	"node_sockstat_sockets_used": true,
}

// NewStack makes the probe of the network namespace that the calling thread is in, and keeps it:
// later samples may be taken on any thread. labels are added to every series; the value of
// "instance" also to the name. The namespace stays until Close.
func NewStack(labels ...series.Label) (*Stack, error) {
	return newStack("/proc/thread-self", labels)
}

func newStack(proc string, labels []series.Label) (*Stack, error) {
	s := &Stack{
		name:    NameOf("network", labels),
		labels:  labels,
		devices: map[string][]series.Label{},
	}
	for _, x := range []struct {
		name     string
		optional bool
		parse    func([]byte, *sink) error
	}{
		{"net/snmp", false, (&netstat{want: snmpWant}).parse},
		{"net/netstat", false, (&netstat{want: netstatWant}).parse},
		{"net/dev", false, (&netdev{}).parse},
		{"net/sockstat", true, parseSockstat},
		{"net/sockstat6", true, parseSockstat6},
	} {
		src := &source{
			name:  x.name,
			file:  file{path: filepath.Join(proc, x.name), once: true},
			parse: x.parse,
		}
		err := src.sample(&s.out)
		if err != nil && !x.optional {
			return nil, errors.Join(
				fmt.Errorf("probe of the %s: %s: %w", s.name, x.name, err),
				src.file.close(),
				s.Close(),
			)
		}
		if err != nil {
			src.file.close()
			continue
		}
		s.sources = append(s.sources, src)
	}
	return s, nil
}

// Name returns "network" and the instance.
func (s *Stack) Name() string { return s.name }

// Sample reads the namespace's counters.
func (s *Stack) Sample(context.Context, time.Time) ([]series.Sample, error) {
	s.out.reset()
	err := s.sources.sample(&s.out)
	kept := s.out.s[:0]
	for _, x := range s.out.s {
		if strings.HasPrefix(x.Name, "node_sockstat_") && !ownSockets[x.Name] {
			continue
		}
		x.Labels = s.with(x.Labels)
		kept = append(kept, x)
	}
	s.out.s = kept
	return kept, err
}

// with returns the labels of a series: the probe's, and the device's. It allocates once for
// each device.
func (s *Stack) with(device []series.Label) []series.Label {
	if len(device) == 0 {
		return s.labels
	}
	all, ok := s.devices[device[0].Value]
	if !ok {
		all = slices.Concat(device, s.labels)
		s.devices[device[0].Value] = all
	}
	return all
}

// Close lets the namespace go.
func (s *Stack) Close() error { return s.sources.close() }
