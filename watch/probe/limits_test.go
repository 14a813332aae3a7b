package probe

import (
	"testing"
)

func TestReadLimits(t *testing.T) {
	root := files(t, map[string]string{
		"proc/self/fd/0":                        "",
		"proc/self/fd/1":                        "",
		"proc/sys/net/ipv4/ip_local_port_range": "32768\t60999\n",
	})
	l, err := readLimits(root)
	if err != nil || l.FilesOpen != 2 || l.Ports() != 28_232 || l.Files < 100 {
		t.Errorf("%+v, %d ports, %v", l, l.Ports(), err)
	}
	if _, err := readLimits(t.TempDir()); err == nil {
		t.Error("a host that tells nothing has limits")
	}
}

// The digest is that of the hardware and its settings: the moment and software devices do not
// change it.
func TestDigest(t *testing.T) {
	h := Host{
		Kernel: "6.1",
		CPUs:   2,
		NICs:   []NIC{{Name: "eth0", Driver: "ena"}},
		Load:   [3]float64{1, 2, 3},
		CPUMHz: 2000,
	}
	same := h
	same.Load = [3]float64{9, 9, 9}
	same.CPUMHz = 3000
	same.NICs = append([]NIC{{Name: "veth7"}}, h.NICs...)
	other := h
	other.CPUs = 4
	if h.Digest() != same.Digest() || h.Digest() == other.Digest() || len(h.Digest()) != 16 {
		t.Errorf("%s, %s, %s", h.Digest(), same.Digest(), other.Digest())
	}
	if len(h.NICs) != 1 || h.Load[0] != 1 {
		t.Error("the host was changed")
	}
}
