package probe

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
)

// TestStack reads the network of one namespace with the labels of its host, and nothing that is the
// whole machine's.
func TestStack(t *testing.T) {
	dir := t.TempDir()
	failure.None(t, os.CopyFS(filepath.Join(dir, "net"), os.DirFS("testdata/proc/net")))
	s, err := newStack(dir, Labels("role", "db", "instance", "db-0"))
	failure.None(t, err)
	if s.Name() != "network db-0" {
		t.Errorf("name %q", s.Name())
	}
	for range 2 { // the second reads the open files
		samples, err := s.Sample(t.Context(), time.Now())
		failure.None(t, err)
		var got []string
		for _, x := range samples {
			key := string(x.AppendKey(nil))
			if !strings.Contains(key, `role="db"`) || !strings.Contains(key, `instance="db-0"`) {
				t.Errorf("%s is of no host", key)
			}
			got = append(got, x.Name)
			if strings.HasPrefix(x.Name, "node_network_") && !strings.Contains(key, `device="`) {
				t.Errorf("%s is of no device", key)
			}
		}
		for _, want := range []string{"node_netstat_Tcp_RetransSegs", "node_netstat_Tcp_CurrEstab", "node_netstat_TcpExt_ListenOverflows",
			"node_network_transmit_bytes_total", "node_sockstat_TCP_inuse", "node_sockstat_TCP_tw"} {
			if !slices.Contains(got, want) {
				t.Errorf("no %s", want)
			}
		}
		for _, not := range []string{"node_sockstat_TCP_mem_bytes", "node_sockstat_TCP_alloc", "node_sockstat_TCP_orphan"} {
			if slices.Contains(got, not) {
				t.Errorf("%s is the whole machine's", not)
			}
		}
	}
	failure.None(t, s.Close())
	// It must not open the files again, where it would read another namespace.
	if samples, err := s.Sample(t.Context(), time.Now()); err == nil || len(samples) > 0 {
		t.Errorf("after Close it has %d samples, %v", len(samples), err)
	}
	failure.None(t, os.Remove(filepath.Join(dir, "net", "snmp")))
	failure.Says(t, failure.Of(newStack(dir, nil)), "net/snmp")
}
