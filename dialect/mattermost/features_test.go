package mattermost

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"plimsoll/dialect/mattermost/api"
)

// told is the answers of a server of some release, written by hand after the public source of that
// release.
type told struct {
	Header string `json:"header"`
	// answers 501 to a request without format=old
	NeedsFormat bool              `json:"needs_format"`
	Config      map[string]string `json:"config"`
	Limited     map[string]string `json:"limited_config"` // for strangers
	License     map[string]string `json:"license"`
}

func (s *told) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Version-Id", s.Header)
	w.Header().Set("Content-Type", "application/json")
	if s.NeedsFormat && r.URL.Query().Get("format") != "old" {
		w.WriteHeader(http.StatusNotImplemented)
		io.WriteString(
			w,
			`{"id":"api.config.client.old_format.app_error","message":"New format is not supported.","status_code":501}`,
		)
		return
	}
	out := s.Limited
	switch {
	case r.URL.Path == "/api/v4/license/client":
		out = s.License
	case r.URL.Path != "/api/v4/config/client":
		http.NotFound(w, r)
		return
	case r.Header.Get("Authorization") != "":
		out = s.Config
	}
	json.NewEncoder(w).Encode(out)
}

func readTold(t *testing.T, name string) *told {
	t.Helper()
	b, err := os.ReadFile("testdata/servers/" + name + ".json")
	s := &told{}
	if err == nil {
		err = json.Unmarshal(b, s)
	}
	noError(t, err)
	return s
}

// Servers from 5.37 to 11.1, with and without licenses, are described rightly, and each absence has
// its reason.
func TestDetection(t *testing.T) {
	for name, want := range map[string]map[feature]string{
		"5.37-team": {
			hasThreads:     "CollapsedThreads is disabled",
			hasReminders:   "since 7.2.0, the server is 5.37.0",
			hasDrafts:      "since 7.7.0",
			hasPriority:    "since 7.7.0",
			hasAcks:        "since 7.7.0",
			hasPersistent:  "since 8.0.0",
			hasBookmarks:   "since 9.5.0",
			hasReports:     "since 9.5.0",
			hasClientPerf:  "since 9.9.0",
			hasScheduled:   "since 10.3.0",
			hasAttributes:  "since 10.5.0",
			hasAllTeams:    "since 7.7.0",
			hasAllChannels: "since 6.2.0",
		},
		"9.5-e20": {
			hasAcks:       "needs a Professional license, the server has any license",
			hasPersistent: "needs a Professional license", hasClientPerf: "since 9.9.0",
			hasScheduled: "since 10.3.0", hasAttributes: "since 10.5.0",
		},
		"9.11-professional": {hasBookmarks: "FeatureFlagChannelBookmarks is false",
			hasScheduled: "since 10.3.0", hasAttributes: "since 10.5.0"},
		"10.5-unlicensed": {
			hasAcks:       "needs a Professional license, the server has no license",
			hasPersistent: "needs a Professional license",
			hasBookmarks:  "needs any license",
			hasScheduled:  "needs any license",
			hasAttributes: "FeatureFlagCustomProfileAttributes is false",
			hasClientPerf: "EnableClientMetrics is false",
		},
		"10.11-enterprise": {hasDrafts: "AllowSyncedDrafts is false"},
		"11.1-entry":       {},
	} {
		t.Run(name, func(t *testing.T) {
			s := readTold(t, name)
			c := newTestClient(t, serve(t, s.ServeHTTP))
			got, err := describe(t.Context(), c)
			noError(t, err)
			if got.Version != parseVersion(s.Header) || got.Version == (version{}) {
				t.Errorf("version %v, the header says %s", got.Version, s.Header)
			}
			for f := range numFeatures {
				why := got.lacks(f)
				if (why == "") != (want[f] == "") || !strings.Contains(why, want[f]) {
					t.Errorf("%s: %q, want %q", featureSpecs[f].name, why, want[f])
				}
				if license := strings.Contains(want[f], "license"); got.wantsLicense(f) != license {
					t.Errorf(
						"%s: for want of a license: %v, want %v",
						featureSpecs[f].name,
						!license,
						license,
					)
				}
			}
			// A client without a session gets fewer fields. A missing one does not count as absent.
			c.SetToken("")
			stranger, err := describe(t.Context(), c)
			if err != nil || stranger.Version != got.Version ||
				stranger.Config["AllowSyncedDrafts"] != "" {
				t.Fatalf("a stranger: %v, %v", stranger, err)
			}
			for f := range numFeatures {
				if why := stranger.lacks(f); why != "" && want[f] == "" {
					t.Errorf("a stranger takes %s for absent: %s", featureSpecs[f].name, why)
				}
			}
		})
	}
}

// The version of a server that does not report it is not guessed.
func TestDetectionOfSomethingElse(t *testing.T) {
	for name, s := range map[string]*told{"no version": {Config: map[string]string{"SiteName": "x"},
		License: map[string]string{}}, "dev": {Config: map[string]string{"Version": "dev"}}} {
		c := newTestClient(t, serve(t, s.ServeHTTP))
		if f, err := describe(t.Context(), c); err == nil {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// The error bodies of several releases are read rightly, and those that name a license are
// distinguished from the others.
func TestErrorBodies(t *testing.T) {
	b, err := os.ReadFile("testdata/errors.json")
	noError(t, err)
	var list []struct {
		Server, What, Type, Code, Proxy string
		Status                          int
		License                         bool
		Body                            json.RawMessage
	}
	noError(t, json.Unmarshal(b, &list))
	for _, tt := range list {
		t.Run(tt.Server+" "+tt.What, func(t *testing.T) {
			addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.Type)
				w.WriteHeader(tt.Status)
				var plain string
				if json.Unmarshal(tt.Body, &plain) == nil {
					io.WriteString(w, plain)
				} else {
					var b bytes.Buffer
					json.Compact(&b, tt.Body)
					w.Write(b.Bytes())
				}
			})
			c := newTestClient(t, addr)
			_, err := c.Me(t.Context())
			e, ok := errors.AsType[*api.OpError](err)
			if !ok || e.Code != tt.Code || e.Status != tt.Status ||
				!strings.Contains(e.Cause, tt.Proxy) ||
				tt.Proxy == "" && e.Cause != "" {
				t.Errorf("read %+v", e)
			}
			if ok && e.LacksLicense() != tt.License {
				t.Errorf("for want of a license: %v", e.LacksLicense())
			}
		})
	}
}

// Each feature is needed by an action or by a call of its own, and each source names the place
// where it was read.
func TestFeatureTable(t *testing.T) {
	names := map[string]bool{}
	for f, spec := range featureSpecs {
		if names[spec.name] = true; spec.source == "" ||
			feature(f) != always && spec.since == (version{}) {
			t.Errorf("%s has no source or no release", spec.name)
		}
	}
	if len(names) != int(numFeatures) {
		t.Errorf("two features share a name: %v", slices.Sorted(maps.Keys(names)))
	}
}

// Only a server that says itself that it is a null server is one; a name, or silence, is no word.
func TestNullServerByItsOwnWord(t *testing.T) {
	for name, tt := range map[string]struct {
		config map[string]string
		want   bool
	}{
		"by its word": {map[string]string{"NullServer": "true"}, true},
		"by its name": {map[string]string{"SiteName": "refnull", "BuildNumber": "null"}, false},
		"by silence":  {nil, false},
		"denied":      {map[string]string{"NullServer": "false"}, false},
	} {
		b := &Person{}
		b.Config = tt.config
		if got := b.Undelivered() != ""; got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
