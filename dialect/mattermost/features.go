package mattermost

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"plimsoll/dialect/mattermost/api"
)

// A feature is an ability that not every server has. An action names the one that it needs.
type feature uint8

const (
	always          feature = iota // every server that this package can talk to
	hasSidebar                     // sidebar categories
	hasThreads                     // followed threads, with an inbox for each user
	hasCustomStatus                // a status in the user's own words
	hasReminders                   // of posts
	hasDrafts                      // kept by the server
	hasPriority                    // of posts: important, urgent
	hasAcks                        // urgent posts that want to be acknowledged
	hasPersistent                  // urgent posts that notify again and again
	hasBookmarks                   // of channels
	hasReports                     // on users, for administrators
	hasClientPerf                  // measurements of clients
	hasScheduled                   // posts for later
	hasAttributes                  // custom profile attributes
	hasAllTeams                    // search in all teams at once
	hasAllChannels                 // lists of the user's channels and memberships in all teams
	hasWebhooks                    // incoming ones
	hasCommands                    // slash commands
	hasBots                        // accounts of programs
	numFeatures
)

// A license is a tier of the server's licenses; each includes those before it.
type license uint8

const (
	unlicensed license = iota
	anyLicense         // also the retired E10 and E20
	professional
	enterprise // also Enterprise Advanced and Entry
)

// String names the tier as an error message needs it.
func (l license) String() string {
	return [...]string{"no license", "any license", "a Professional license",
		"an Enterprise license"}[l]
}

// licenseOf reads the license from a server's answer. A license without a tier counts as any.
func licenseOf(values map[string]string) license {
	if values["IsLicensed"] != "true" {
		return unlicensed
	}
	switch values["SkuShortName"] {
	case "professional":
		return professional
	case "enterprise", "advanced", "entry":
		return enterprise
	}
	return anyLicense
}

// A featureSpec lists the conditions under which a server has a feature.
type featureSpec struct {
	name  string
	since version // of the server's first release with the API
	// Key of the client configuration that switches it off by "false" or "disabled" ("" if there is
	// none).
	config  string
	license license
	source  string // where since, config and license were read
}

// Sources: "reference" is the public API reference (api/v4/source of mattermost/mattermost and
// v4/source of mattermost-api-reference), "server" the public source of the server, release-5.37
// and before in mattermost-server, later ones in mattermost/mattermost.
var featureSpecs = [numFeatures]featureSpec{
	always: {name: "the API itself", source: "API v4 reference"},
	hasSidebar: {name: "sidebar categories", since: version{5, 26},
		source: "reference: channels.yaml, minimum server version 5.26"},
	hasThreads: {
		name:   "followed threads",
		since:  version{5, 33},
		config: "CollapsedThreads",
		source: "server: api4/user.go has the routes for lists since release-5.30 (the reference: 5.29), for all threads of a team " +
			"since 5.32, for one thread since 5.33; config/client.go has CollapsedThreads disabled, default_off, default_on or always_on since 5.32",
	},
	hasCustomStatus: {
		name:   "custom status",
		since:  version{5, 33},
		config: "EnableCustomUserStatuses",
		source: "server: api4/status.go has the routes in release-5.33, not in release-5.32; config/client.go has the switch",
	},
	hasReminders: {name: "post reminders", since: version{7, 2},
		source: "reference: posts.yaml, minimum server version 7.2"},
	hasDrafts: {
		name:   "synced drafts",
		since:  version{7, 7},
		config: "AllowSyncedDrafts",
		source: "reference: upsert-draft (501 when switched off); mattermost/docs#6118 names 7.7; server: api4/drafts.go",
	},
	hasPriority: {
		name:   "priorities",
		since:  version{7, 7},
		config: "PostPriority",
		source: "server: config/client.go has the switch; load-test-ng writes urgent posts from 7.7 on",
	},
	hasAcks: {
		name:    "acknowledgements",
		since:   version{7, 7},
		config:  "PostPriority",
		license: professional,
		source:  "reference: posts.yaml, minimum server version 7.7; server: config/client.go sets PostAcknowledgements with a Professional license and PostPriority",
	},
	hasPersistent: {name: "persistent notifications", since: version{8, 0},
		config: "AllowPersistentNotifications", license: professional,
		source: "server: config/client.go; load-test-ng's gate for the action (8.0.0)"},
	hasBookmarks: {
		name:    "channel bookmarks",
		since:   version{9, 5},
		config:  "FeatureFlagChannelBookmarks",
		license: anyLicense,
		source:  "reference: bookmarks.yaml, minimum server version 9.5; server: api4/channel_bookmark.go answers 501 without a license",
	},
	hasReports: {
		name:   "user reports",
		since:  version{9, 5},
		source: "server: api4/report.go since mattermost/mattermost#25713 (merged 2023-12-13); the user interface since 9.6 (mattermost/docs#6968)",
	},
	hasClientPerf: {name: "client performance", since: version{9, 9}, config: "EnableClientMetrics",
		source: "reference: metrics.yaml, minimum server version 9.9.0"},
	hasScheduled: {
		name:    "scheduled posts",
		since:   version{10, 3},
		config:  "ScheduledPosts",
		license: anyLicense,
		source:  "reference: scheduled_post.yaml, minimum server version 10.3; server: api4/scheduled_post.go answers 400 without a license",
	},
	hasAttributes: {
		name:    "custom profile attributes",
		since:   version{10, 5},
		config:  "FeatureFlagCustomProfileAttributes",
		license: enterprise,
		source:  "reference: custom_profile_attributes.yaml, minimum server version 10.5, Entry, Enterprise or Enterprise Advanced license (403 otherwise)",
	},
	hasAllChannels: {
		name:   "channels of all teams",
		since:  version{6, 2},
		source: "reference: users.yaml, GET /users/{user_id}/channel_members, minimum server version 6.2.0",
	},
	hasWebhooks: {
		name:   "incoming webhooks",
		since:  version{4, 0},
		config: "EnableIncomingWebhooks",
		source: "server: app/webhook.go answers 501 when switched off; config/client.go has the switch",
	},
	hasCommands: {
		name:   "slash commands",
		since:  version{4, 0},
		config: "EnableCommands",
		source: "server: app/command.go refuses built-in commands, too, when switched off; config/client.go has the switch",
	},
	hasBots: {
		name:   "bot accounts",
		since:  version{5, 10},
		source: "reference: bots.yaml, minimum server version 5.10; EnableBotAccountCreation matters unless bot_token is given",
	},
	hasAllTeams: {
		name:   "search in all teams",
		since:  version{7, 7},
		source: "server: api4/post.go has the route in release-7.7; seen: 10.5 answers 200; load-test-ng's gate is 10.7.0; not in the reference",
	},
}

// A version is a release of the server: major, minor, patch.
type version [3]int

// parseVersion reads the beginning of "5.37.0.5.37.0.hash.false" or "10.5.1". Without a number the
// version is 0.
func parseVersion(s string) (v version) {
	parts := strings.SplitN(s, ".", 4)
	for i := range min(3, len(parts)) {
		v[i], _ = strconv.Atoi(parts[i])
	}
	return v
}

// String writes the version as releases are named.
func (v version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

func (v version) before(w version) bool {
	for i := range v {
		if v[i] != w[i] {
			return v[i] < w[i]
		}
	}
	return false
}

// facts describe one server, by its own answers.
type facts struct {
	Version version           `json:"version"`
	Config  map[string]string `json:"config"` // for clients
	License license           `json:"license"`
	// why a feature cannot be used although the server has it
	Denied map[feature]string `json:"denied"`
}

// collapsed reports whether clients show replies in their threads alone, unless a user wants
// otherwise.
func (s *facts) collapsed() bool {
	return s.Config["CollapsedThreads"] == "always_on" ||
		s.Config["CollapsedThreads"] == "default_on"
}

// nullServer is the note on a server that declares to keep and deliver nothing, as the null server
// of this program does.
const nullServer = "the target says that it is a null server, which keeps no messages and delivers none"

// null reports whether the server declares to be a null server.
func (s *facts) null() bool { return isNull(s.Config) }

func isNull(config map[string]string) bool { return config["NullServer"] == "true" }

// lacks returns why the server does not have a feature, or "". A switch that the server does not
// mention is not a reason: the release may have dropped it, or a client without a session got only
// a part.
func (s *facts) lacks(f feature) string {
	spec := &featureSpecs[f]
	if why := s.Denied[f]; why != "" {
		return spec.name + ": " + why
	}
	switch v := s.Config[spec.config]; {
	case s.Version.before(spec.since):
		return fmt.Sprintf("%s: since %s, the server is %s", spec.name, spec.since, s.Version)
	case spec.config != "" && (v == "false" || v == "disabled"):
		return fmt.Sprintf("%s: %s is %s on the server", spec.name, spec.config, v)
	case s.License < spec.license:
		return fmt.Sprintf("%s: needs %s, the server has %s", spec.name, spec.license, s.License)
	}
	return ""
}

// wantsLicense reports whether the server lacks only the license for the feature.
func (s *facts) wantsLicense(f feature) bool {
	with := *s
	with.License = enterprise
	return s.lacks(f) != "" && with.lacks(f) == ""
}

// describe requests the facts of a server.
func describe(ctx context.Context, c *api.Client) (f facts, err error) {
	if f.Config, err = c.ClientConfig(ctx); err != nil {
		return f, err
	}
	values, err := c.ClientLicense(ctx)
	if err != nil {
		return f, err
	}
	f.License = licenseOf(values)
	if f.Version = parseVersion(f.Config["Version"]); f.Version == (version{}) {
		err = fmt.Errorf("%w: the server names no version (%q)", api.ErrEffect, f.Config["Version"])
	}
	return f, err
}
