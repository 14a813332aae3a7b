package refchat

import (
	"crypto/md5"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
)

// clientConfig is the configuration that clients receive.
type clientConfig struct {
	versionID string // the X-Version-Id header: version, build, hash of the configuration, licensed
	values    map[string]string
}

// clientDefaults are the settings that no release and no license changes.
const clientDefaults = `
AllowEditPost=always
AndroidLatestVersion=
AndroidMinVersion=
AvailableLocales=
BuildDate=
BuildEnterpriseReady=false
BuildHash=
BuildHashEnterprise=none
CloseUnusedDirectMessages=false
CustomTermsOfServiceId=
DefaultClientLocale=en
DefaultTheme=
DesktopLatestVersion=
DiagnosticId=
DiagnosticsEnabled=false
EnableBotAccountCreation=true
EnableChannelViewedMessages=true
EnableCommands=true
EnableConfirmNotificationsToChannel=true
EnableCustomEmoji=false
EnableEmojiPicker=true
EnableFileAttachments=true
EnableGifPicker=false
EnableIncomingWebhooks=true
EnableLinkPreviews=false
EnableOpenServer=true
EnablePostIconOverride=false
EnablePreviewFeatures=true
EnableSVGs=false
EnableSignInWithEmail=true
EnableSignInWithUsername=true
EnableSignUpWithEmail=true
EnableTutorial=true
EnableUserAccessTokens=true
EnableUserCreation=true
EnableUserStatuses=true
EnableUserTypingMessages=true
ExperimentalViewArchivedChannels=true
FileLevel=
IosLatestVersion=
LockTeammateNameDisplay=false
MaxFileSize=104857600
MaxNotificationsPerChannel=1000
MaxPostSize=16383
MinimumHashtagLength=3
NoAccounts=false
PasswordMinimumLength=5
PostEditTimeLimit=-1
ReportAProblemLink=
RestrictDirectMessage=any
SendEmailNotifications=false
SendPushNotifications=true
ShowEmailAddress=true
ShowFullName=true
SiteName=refchat
SiteURL=
TeammateNameDisplay=username
ThreadAutoFollow=true
TimeBetweenUserTypingUpdatesMilliseconds=5000
WebsocketPort=80
WebsocketSecurePort=443
WebsocketURL=
`

func newClientConfig(version string, rel release, lic license) clientConfig {
	v := map[string]string{"BuildNumber": version, "Version": version}
	for line := range strings.FieldsSeq(clientDefaults) {
		name, value, _ := strings.Cut(line, "=")
		v[name] = value
	}
	for _, f := range flags {
		if rel.atLeast(f.since) {
			v[f.name] = f.value
		}
	}
	if rel.atLeast(release{7, 7}) && lic >= professional {
		v["PostAcknowledgements"] = "true"
	}
	sum := md5.Sum([]byte(jsonText(v)))
	id := version + "." + version + "." + hex.EncodeToString(sum[:]) + "." + strconv.FormatBool(
		lic > unlicensed,
	)
	return clientConfig{versionID: id, values: v}
}

// getClientConfig requires format=old before 11.0.
func (q *request) getClientConfig() error {
	switch format := q.query("format"); {
	case format == "" && !q.release.atLeast(release{11, 0}):
		return newError(
			http.StatusNotImplemented,
			"api.config.client.old_format.app_error",
			"New format for the client configuration is not supported yet. Please specify format=old in the query string.",
		)
	case format != "" && format != "old":
		return errURL("format")
	}
	return q.reply(q.client.values)
}

// getConfig answers an administrator with the settings that bound a load. It has none for metrics,
// which are always on.
func (q *request) getConfig() error {
	type section map[string]any
	return q.reply(map[string]section{
		"ServiceSettings": {
			"SiteURL":                  q.client.values["SiteURL"],
			"EnableBotAccountCreation": true,
			"EnableCommands":           true,
			"EnableIncomingWebhooks":   true,
		},
		"TeamSettings":      {"MaxUsersPerTeam": 1_000_000},
		"RateLimitSettings": {"Enable": false},
	})
}

func (q *request) ping() error {
	out := map[string]string{
		"AndroidLatestVersion": "",
		"AndroidMinVersion":    "",
		"DesktopLatestVersion": "",
		"DesktopMinVersion":    "",
		"IosLatestVersion":     "",
		"IosMinVersion":        "",
		"status":               "OK",
	}
	if q.query("get_server_status") == "true" {
		out["database_status"], out["filestore_status"] = "OK", "OK"
		if err := q.st.db.PingContext(q); err != nil {
			out["database_status"], out["status"] = "UNHEALTHY", "UNHEALTHY"
			return q.replyAs(http.StatusInternalServerError, out)
		}
	}
	return q.reply(out)
}

// builtinRoles are the roles that this server gives, with the permissions that it checks.
var builtinRoles = func() map[string][]string {
	roles := map[string][]string{}
	for line := range strings.Lines(`system_admin: manage_system create_team create_post read_channel create_bot create_user_access_token
system_user: create_team create_direct_channel create_group_channel list_public_teams join_public_teams view_members
team_admin: manage_incoming_webhooks manage_team add_user_to_team view_team
team_user: list_team_channels join_public_channels read_public_channel view_team create_public_channel create_private_channel add_user_to_team
channel_admin: manage_channel_roles
channel_user: use_slash_commands read_channel add_reaction remove_reaction upload_file create_post edit_post delete_post use_channel_mentions manage_public_channel_members manage_private_channel_members`) {
		name, permissions, _ := strings.Cut(line, ": ")
		roles[name] = strings.Fields(permissions)
	}
	return roles
}()

func (q *request) getRolesByNames(names []string) error {
	out := []map[string]any{}
	for _, name := range names {
		if perms, ok := builtinRoles[name]; ok {
			sum := md5.Sum([]byte(name))
			out = append(out, map[string]any{
				"id":             idEncoding.EncodeToString(sum[:]),
				"name":           name,
				"display_name":   "authentication.roles." + name + ".name",
				"description":    "authentication.roles." + name + ".description",
				"create_at":      q.start.UnixMilli(),
				"update_at":      q.start.UnixMilli(),
				"delete_at":      0,
				"permissions":    perms,
				"scheme_managed": strings.Contains(name, "_"),
				"built_in":       true,
			})
		}
	}
	return q.reply(out)
}

func getWebappPlugins(*request) error {
	return newError(http.StatusNotImplemented, "app.plugin.disabled.app_error",
		"Plugins have been disabled.")
}
