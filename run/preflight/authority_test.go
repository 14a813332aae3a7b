package preflight

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/target"
)

// A target whose certificate a private authority signed answers to a process that trusts it. That
// is another process: the system's authorities are read once.
func TestTrust(t *testing.T) {
	const file, at = "TRUST_FILE", "TRUST_URL"
	if os.Getenv(file) != "" {
		if err := Trust(os.Getenv(file)); err != nil {
			t.Fatal(err)
		}
		if err := target.Ready(t.Context(), os.Getenv(at)); err != nil {
			t.Fatal(err)
		}
		return
	}
	srv := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()
	own := filepath.Join(t.TempDir(), "own.pem")
	if err := os.WriteFile(own, pem.EncodeToMemory(&pem.Block{
		Type:  "CERTIFICATE",
		Bytes: srv.Certificate().Raw,
	}), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestTrust$")
	cmd.Env = append(os.Environ(), file+"="+own, at+"="+srv.URL)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, []byte("none"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Trust(empty); err == nil || !strings.Contains(err.Error(), "holds no certificate") {
		t.Errorf("a file without a certificate: %v", err)
	}
}
