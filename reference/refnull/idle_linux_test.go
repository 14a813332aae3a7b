package refnull

import (
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestIdleConnectionsAreNotProbed looks at the server's side of an idle connection in the kernel's
// table: no timer of keep-alive runs.
func TestIdleConnectionsAreNotProbed(t *testing.T) {
	s := start(t, Config{})
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL(), "http://"))
	noError(t, err)
	defer conn.Close()
	if _, err := conn.Write([]byte("GET /api/v4/system/ping HTTP/1.1\r\nHost: null\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 4096)); err != nil { // the server has accepted
		t.Fatal(err)
	}
	port := func(a net.Addr) string {
		return strings.ToUpper(strconv.FormatUint(uint64(a.(*net.TCPAddr).Port)|0x10000, 16))[1:]
	}
	table, err := os.ReadFile("/proc/self/net/tcp")
	noError(t, err)
	found := false
	// sl, local, remote, state, queues, timer: proc_net_tcp in the kernel's documentation
	for line := range strings.Lines(string(table)) {
		f := strings.Fields(line)
		if len(f) < 6 || !strings.HasSuffix(f[1], ":"+port(conn.RemoteAddr())) ||
			!strings.HasSuffix(f[2], ":"+port(conn.LocalAddr())) {
			continue
		}
		found = true
		if timer, _, _ := strings.Cut(f[5], ":"); timer == "02" {
			t.Errorf("the kernel probes the connection while it is idle: %s", line)
		}
	}
	if !found {
		t.Error("the kernel's table has no such connection")
	}
}
