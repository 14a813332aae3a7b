package export

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/plain"
)

func TestPushCredentials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const token, basic = "PLIMSOLL_REMOTE_WRITE_TOKEN", "PLIMSOLL_REMOTE_WRITE_BASIC"
	for _, c := range []struct {
		env        map[string]string
		want, fail string
	}{
		{nil, "", ""},
		{map[string]string{token: "s3cret"}, "Bearer s3cret", ""},
		{map[string]string{token + "_FILE": file}, "Bearer s3cret", ""},
		{map[string]string{basic: "u:s3cret"}, "Basic dTpzM2NyZXQ=", ""},
		{map[string]string{basic: "s3cret"}, "", "wants user:password"},
		{map[string]string{basic: "u:s3cret", token: "s3cret"}, "", "both set"},
		{map[string]string{token: "s3cret", token + "_FILE": file}, "", "both set"},
		{map[string]string{token: "s3cret\r\nX: y"}, "", "control character"},
		{map[string]string{token + "_FILE": file + "x"}, "", "no such file"},
		{map[string]string{token + "_FILE": empty}, "", "is empty"},
		{map[string]string{token + "_FILE": os.DevNull}, "", "want a regular file"},
	} {
		got, err := credentials(func(k string) string { return c.env[k] }, new(plain.Secrets))
		if got != c.want || (err == nil) != (c.fail == "") ||
			err != nil && !strings.Contains(err.Error(), c.fail) {
			t.Errorf("%v: %q, %v; want %q, %q", c.env, got, err, c.want, c.fail)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("a secret in %v", err)
		}
	}
}

func TestListenAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:9090": "loopback", "[::1]:0": "loopback", "localhost:1": "loopback",
		"0.0.0.0:9090": "open", "10.1.2.3:80": "open", "metrics.example:80": "open",
		":9090": "names no host", "9090": "is no address", "": "is no address",
	} {
		loopback, err := CheckListen(address)
		got := "open"
		if loopback {
			got = "loopback"
		}
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", address, got, want)
		}
	}
}
