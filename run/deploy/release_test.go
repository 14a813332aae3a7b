package deploy

import "testing"

func TestReleases(t *testing.T) {
	tests := []struct {
		want, has string
		is        bool
	}{
		{"11.0", "11.0.4", true},
		{"11.0", "11.1.0", false},
		{"11.1", "11.10.0", false},
		{"v11.0.4", "11.0.4", true},
		{"11.0.4", "11.0", false},
		{"11.1-rc2", "11.1.0-rc2", true},
		{"11.1-rc2", "11.1.0-rc1", false},
		{"11.1-rc2", "11.1.0", false},
		{"11.1", "11.1.0-rc2", false},
		{"11", "11.1.0", false},
		{"main", "main", true},
		{"main", "dev", false},
		{"4f2a91c", "4f2a91c0aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", true},
		{"4f2a91", "4f2a91c0aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
		{"", "11.0.0", false},
	}
	for _, tt := range tests {
		if got := isRelease(tt.want, tt.has); got != tt.is {
			t.Errorf("isRelease(%q, %q) = %v", tt.want, tt.has, got)
		}
	}
	if got := named("11.1-rc2", []string{"11.1.0", "11.1.0-rc2"}); got != "11.1.0-rc2" {
		t.Errorf("named %q", got)
	}
	for want, early := range map[string]string{
		"11.1":       "11.1.0-rc2",
		"v11.1.0":    "11.1.0-rc2",
		"11.1-rc2":   "",
		"11.1.0-rc2": "",
		"11.0":       "",
	} {
		if got := candidate(want, []string{"11.1.0", "11.1.0-rc2"}); got != early {
			t.Errorf("the candidate of %s is %q, want %q", want, got, early)
		}
	}
	if got := candidate("11.1", []string{"11.1.0", "11.1.0-fips", "dev"}); got != "" {
		t.Errorf("%q is a candidate", got)
	}
	if got := named("11.2", []string{"11.1.0", "11.1.0-rc2"}); got != "11.1.0" {
		t.Errorf("named %q", got)
	}
}
