package refchat

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// release is a version of the real server, as far as the API differs by it: major and minor.
type release struct{ major, minor int }

// parseRelease reads "10.11.2", "10.11.0-rc1" or "10.11"; a version without two numbers is an
// error.
func parseRelease(s string) (release, error) {
	parts := strings.SplitN(s, ".", 3)
	if len(parts) >= 2 {
		major, err1 := strconv.Atoi(parts[0])
		minor, err2 := strconv.Atoi(parts[1])
		if err1 == nil && err2 == nil && major >= 0 && minor >= 0 {
			return release{major, minor}, nil
		}
	}
	return release{},
		fmt.Errorf(
			"version %q: want MAJOR.MINOR, MAJOR.MINOR.PATCH or MAJOR.MINOR.PATCH-rc1, as 10.11.0",
			s,
		)
}

// atLeast reports whether r is since or later; the zero release is before all.
func (r release) atLeast(since release) bool {
	return cmp.Or(cmp.Compare(r.major, since.major), cmp.Compare(r.minor, since.minor)) >= 0
}

// license is a tier of the real server's licenses. A server plays one; features of a higher tier
// refuse, as there.
type license int

const (
	unlicensed   license = 0
	professional license = 10
	enterprise   license = 20
)

var licenses = map[string]license{
	"none":         unlicensed,
	"professional": professional,
	"enterprise":   enterprise,
}

// values returns the license as clients see it; those who are not administrators see less.
func (l license) values(admin bool) map[string]string {
	v := map[string]string{"IsLicensed": strconv.FormatBool(l > unlicensed)}
	if l == unlicensed {
		return v
	}
	v["SkuShortName"] = "professional"
	v["Cloud"] = "false"
	v["IsTrial"] = "false"
	v["Users"] = "0"
	if l >= enterprise {
		v["SkuShortName"] = "enterprise"
	}
	for _, feature := range []string{"LDAP", "Cluster", "Compliance", "Elasticsearch", "SAML", "Metrics"} {
		v[feature] = strconv.FormatBool(l >= enterprise)
	}
	if admin {
		v["Id"] = "refchat"
		v["SkuName"] = "Reference"
		v["Company"] = "refchat"
	}
	return v
}

// mustHold refuses operations that need a higher license than the server plays, with the answer
// that the real server gives there.
func (s *Server) mustHold(l license, status int, id string) error {
	if s.license >= l {
		return nil
	}
	return newError(status, id, "Your license does not support this feature.")
}

// flags are the settings in the client configuration that came with a release, and their values
// here.
var flags = []struct {
	since       release
	name, value string
}{
	{release{5, 32}, "CollapsedThreads", "disabled"},
	{release{5, 33}, "EnableCustomUserStatuses", "true"},
	{release{5, 36}, "EnableReliableWebSockets", "false"},
	{release{5, 38}, "EnableReliableWebSockets", "true"}, // see reliable
	{release{7, 0}, "CollapsedThreads", "always_on"},
	{release{7, 7}, "AllowSyncedDrafts", "true"},
	{release{7, 7}, "PostPriority", "true"},
	{release{8, 0}, "AllowPersistentNotifications", "true"},
	{release{8, 0}, "PersistentNotificationMaxRecipients", "5"},
	// seen on 9.11; on in the source of 10.5
	{release{9, 5}, "FeatureFlagChannelBookmarks", "false"},
	{release{9, 9}, "EnableClientMetrics", "true"},
	{release{10, 3}, "ScheduledPosts", "true"},
	{release{10, 5}, "FeatureFlagChannelBookmarks", "true"},
	// seen on 10.5; on in the source of 10.11
	{release{10, 5}, "FeatureFlagCustomProfileAttributes", "false"},
	{release{10, 11}, "FeatureFlagCustomProfileAttributes", "true"},
}

// reliable reports whether connections of the WebSocket can be taken up again: releases since 5.35
// have the setting EnableReliableWebSockets, and since 5.38 it is on (mattermost/mattermost#17890).
func (s *Server) reliable() bool { return s.release.atLeast(release{5, 38}) }

// getClientLicense requires format=old in every release, as seen up to 11.6.
func (q *request) getClientLicense() error {
	if q.query("format") != "old" {
		return errURL("format")
	}
	return q.reply(q.license.values(q.sess.isAdmin()))
}
