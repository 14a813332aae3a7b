package refchat

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
)

// SchemaVersion is the value of the name "schema" in a database's systems table; with another
// version the server refuses it.
const SchemaVersion = "2"

// table is one table with columns as the real schema types them on both engines: the words BOOL,
// TEXT and PROPS stand for types that differ (see columns).
type table struct {
	name    string
	columns string
	indexes []string // "name: columns", a leading UNIQUE or FULLTEXT
}

var tables = []table{
	{"systems", "name varchar(64) NOT NULL PRIMARY KEY, value varchar(1024)", nil},
	{"users", `id varchar(26) NOT NULL PRIMARY KEY, createat bigint, updateat bigint, deleteat bigint, username varchar(64) UNIQUE,
		password varchar(256), authdata varchar(128), authservice varchar(32), email varchar(128) UNIQUE, emailverified BOOL,
		nickname varchar(64), firstname varchar(64), lastname varchar(64), position varchar(128), roles varchar(256),
		allowmarketing BOOL, props PROPS, notifyprops varchar(2000), lastpasswordupdate bigint, lastpictureupdate bigint,
		failedattempts integer, locale varchar(5), timezone varchar(256), lastlogin bigint`,
		[]string{"idx_users_update_at: updateat", "idx_users_create_at: createat", "idx_users_delete_at: deleteat"}},
	{"bots", `userid varchar(26) NOT NULL PRIMARY KEY, description varchar(1024), ownerid varchar(190), createat bigint, updateat bigint, deleteat bigint`, nil},
	{"sessions", `id varchar(26) NOT NULL PRIMARY KEY, token varchar(26), createat bigint, expiresat bigint, lastactivityat bigint,
		userid varchar(26), deviceid varchar(512), roles varchar(64), isoauth BOOL, expirednotify BOOL, props varchar(1000)`,
		[]string{"idx_sessions_user_id: userid", "idx_sessions_token: token", "idx_sessions_expires_at: expiresat",
			"idx_sessions_create_at: createat", "idx_sessions_last_activity_at: lastactivityat"}},
	{"useraccesstokens", `id varchar(26) NOT NULL PRIMARY KEY, token varchar(26) UNIQUE, userid varchar(26), description varchar(512), isactive BOOL`,
		[]string{"idx_user_access_tokens_user_id: userid"}},
	{"audits", `id varchar(26) NOT NULL PRIMARY KEY, createat bigint, userid varchar(26), action varchar(512), extrainfo varchar(1024),
		ipaddress varchar(64), sessionid varchar(26)`, []string{"idx_audits_user_id: userid"}},
	{"teams", `id varchar(26) NOT NULL PRIMARY KEY, createat bigint, updateat bigint, deleteat bigint, displayname varchar(64),
		name varchar(64) UNIQUE, description varchar(255), email varchar(128), type varchar(255), companyname varchar(64),
		alloweddomains varchar(1000), inviteid varchar(32), allowopeninvite BOOL, schemeid varchar(26)`,
		[]string{"idx_teams_invite_id: inviteid", "idx_teams_update_at: updateat", "idx_teams_create_at: createat", "idx_teams_delete_at: deleteat"}},
	{"teammembers", `teamid varchar(26) NOT NULL, userid varchar(26) NOT NULL, roles varchar(64), deleteat bigint, schemeuser BOOL,
		schemeadmin BOOL, schemeguest BOOL, PRIMARY KEY (teamid, userid)`,
		[]string{"idx_teammembers_user_id: userid", "idx_teammembers_delete_at: deleteat"}},
	{"channels", `id varchar(26) NOT NULL PRIMARY KEY, createat bigint, updateat bigint, deleteat bigint, teamid varchar(26), type varchar(1),
		displayname varchar(64), name varchar(64), header varchar(1024), purpose varchar(250), lastpostat bigint, totalmsgcount bigint,
		extraupdateat bigint, creatorid varchar(26), totalmsgcountroot bigint, schemeid varchar(26)`,
		[]string{"UNIQUE channels_name_teamid_key: name, teamid", "idx_channels_team_id: teamid", "idx_channels_name: name",
			"idx_channels_update_at: updateat", "idx_channels_create_at: createat", "idx_channels_delete_at: deleteat",
			"FULLTEXT idx_channel_search_txt: name, displayname, purpose"}},
	{"channelmembers", `channelid varchar(26) NOT NULL, userid varchar(26) NOT NULL, roles varchar(64), lastviewedat bigint, msgcount bigint,
		mentioncount bigint, notifyprops varchar(2000), lastupdateat bigint, schemeuser BOOL, schemeadmin BOOL, schemeguest BOOL,
		mentioncountroot bigint, msgcountroot bigint, PRIMARY KEY (channelid, userid)`,
		[]string{"idx_channelmembers_user_id: userid"}},
	{"posts", `id varchar(26) NOT NULL PRIMARY KEY, createat bigint, updateat bigint, editat bigint, deleteat bigint, ispinned BOOL,
		userid varchar(26), channelid varchar(26), rootid varchar(26), parentid varchar(26), originalid varchar(26), message TEXT,
		type varchar(26), props PROPS, hashtags varchar(1000), fileids varchar(300), hasreactions BOOL`,
		[]string{"idx_posts_update_at: updateat", "idx_posts_create_at: createat", "idx_posts_delete_at: deleteat",
			"idx_posts_root_id: rootid", "idx_posts_user_id: userid", "idx_posts_is_pinned: ispinned",
			"idx_posts_channel_id_update_at: channelid, updateat", "idx_posts_channel_id_delete_at_create_at: channelid, deleteat, createat",
			"FULLTEXT idx_posts_message_txt: message", "FULLTEXT idx_posts_hashtags_txt: hashtags"}},
	{"threads", `postid varchar(26) NOT NULL PRIMARY KEY, channelid varchar(26), replycount bigint, lastreplyat bigint, participants TEXT`,
		[]string{"idx_threads_channel_id: channelid"}},
	{"threadmemberships", `postid varchar(26) NOT NULL, userid varchar(26) NOT NULL, following BOOL, lastviewed bigint, lastupdated bigint,
		unreadmentions bigint, PRIMARY KEY (postid, userid)`,
		[]string{"idx_thread_memberships_last_update_at: lastupdated", "idx_thread_memberships_last_view_at: lastviewed", "idx_thread_memberships_user_id: userid"}},
	{"reactions", `userid varchar(26) NOT NULL, postid varchar(26) NOT NULL, emojiname varchar(64) NOT NULL, createat bigint, updateat bigint,
		deleteat bigint, PRIMARY KEY (postid, userid, emojiname)`, nil},
	{"fileinfo", `id varchar(26) NOT NULL PRIMARY KEY, creatorid varchar(26), postid varchar(26), channelid varchar(26), createat bigint,
		updateat bigint, deleteat bigint, path varchar(512), thumbnailpath varchar(512), previewpath varchar(512), name varchar(256),
		extension varchar(64), size bigint, mimetype varchar(256), width integer, height integer, haspreviewimage BOOL, content TEXT`,
		[]string{"idx_fileinfo_update_at: updateat", "idx_fileinfo_create_at: createat", "idx_fileinfo_delete_at: deleteat",
			"idx_fileinfo_postid_at: postid", "idx_fileinfo_extension_at: extension",
			"FULLTEXT idx_fileinfo_name_txt: name", "FULLTEXT idx_fileinfo_content_txt: content"}},
	{"postspriority", `postid varchar(26) NOT NULL PRIMARY KEY, channelid varchar(26), priority varchar(32), requestedack BOOL, persistentnotifications BOOL`, nil},
	{"postacknowledgements", `postid varchar(26) NOT NULL, userid varchar(26) NOT NULL, acknowledgedat bigint, PRIMARY KEY (postid, userid)`, nil},
	{"persistentnotifications", `postid varchar(26) NOT NULL PRIMARY KEY, createat bigint, lastsentat bigint, deleteat bigint, sentcount smallint`, nil},
	{"postreminders", `postid varchar(26) NOT NULL, userid varchar(26) NOT NULL, targettime bigint, PRIMARY KEY (postid, userid)`,
		[]string{"idx_postreminders_targettime: targettime"}},
	{"preferences", `userid varchar(26) NOT NULL, category varchar(32) NOT NULL, name varchar(32) NOT NULL, value varchar(2000),
		PRIMARY KEY (userid, category, name)`,
		[]string{"idx_preferences_category: category", "idx_preferences_name: name"}},
	{"status", `userid varchar(26) NOT NULL PRIMARY KEY, status varchar(32), manual BOOL, lastactivityat bigint`,
		[]string{"idx_status_status: status"}},
	{"sidebarcategories", `id varchar(128) NOT NULL PRIMARY KEY, userid varchar(26), teamid varchar(26), sortorder bigint, sorting varchar(64),
		type varchar(64), displayname varchar(64), muted BOOL, collapsed BOOL`,
		[]string{"idx_sidebarcategories_userid_teamid: userid, teamid"}},
	sidebarChannelTable, draftTable, scheduledTable, bookmarkTable, propertyFieldTable, propertyValueTable,
	{"schemes", `id varchar(26) NOT NULL PRIMARY KEY, defaultchanneluserrole varchar(64), defaultchanneladminrole varchar(64)`, nil},
	{"usertermsofservice", `userid varchar(26) NOT NULL PRIMARY KEY, termsofserviceid varchar(26), createat bigint`, nil},
	{"outgoingwebhooks", `id varchar(26) NOT NULL PRIMARY KEY, deleteat bigint, channelid varchar(26), teamid varchar(26), triggerwords varchar(1024),
		callbackurls varchar(1024)`, []string{"idx_outgoing_webhook_team_id: teamid"}},
}

// create returns the statement that makes the table.
func (t table) create(eng *engine) string {
	return "CREATE TABLE IF NOT EXISTS " + t.name + " (" + eng.types.Replace(t.columns) + ")" + eng.suffix
}

// index returns the statement that makes one of the table's indexes.
func (t table) index(eng *engine, spec string) string {
	spec, columns, _ := strings.Cut(spec, ": ")
	if name, ok := strings.CutPrefix(spec, "FULLTEXT "); ok {
		return eng.fullText(t.name, name, columns)
	}
	unique, name, ok := strings.Cut(spec, " ")
	if !ok {
		unique, name = "", spec
	}
	return fmt.Sprintf("CREATE %s INDEX %s ON %s (%s)", unique, name, t.name, columns)
}

// Migrate makes the schema in an empty database; it does nothing to one that has it.
func Migrate(ctx context.Context, dsn string) error {
	db, eng, err := openDB(ctx, dsn, 2)
	if err != nil {
		return err
	}
	defer db.Close()
	return migrate(ctx, db, eng)
}

// migrate makes the schema in an empty database and accepts one that is there. Servers that start
// together wait for each other on an advisory lock.
func migrate(ctx context.Context, db *sql.DB, eng *engine) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	c, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("migrating: %w", err)
	}
	defer c.Close()
	if _, err := c.ExecContext(ctx, eng.lock); err != nil {
		return fmt.Errorf("migrating: taking the lock: %w", err)
	}
	defer func() {
		if _, uerr := c.ExecContext(context.WithoutCancel(ctx), eng.unlock); err == nil && uerr != nil {
			err = fmt.Errorf("migrating: releasing the lock: %w", uerr)
		}
	}()
	if _, err := c.ExecContext(ctx, tables[0].create(eng)); err != nil {
		return fmt.Errorf("migrating: %w", err)
	}
	var have string
	err = c.QueryRowContext(ctx, "SELECT value FROM systems WHERE name = 'schema'").Scan(&have)
	switch {
	case err == nil && have == SchemaVersion:
		return nil
	case err == nil:
		return fmt.Errorf("migrating: the database has schema %q, this server wants %q: start from an empty database", have, SchemaVersion)
	case err != sql.ErrNoRows:
		return fmt.Errorf("migrating: %w", err)
	}
	for _, t := range tables[1:] {
		if _, err := c.ExecContext(ctx, t.create(eng)); err != nil {
			return fmt.Errorf("migrating: table %s: %w", t.name, err)
		}
		for _, spec := range t.indexes {
			if _, err := c.ExecContext(ctx, t.index(eng, spec)); err != nil {
				return fmt.Errorf("migrating: index %s: %w", spec, err)
			}
		}
	}
	if _, err := c.ExecContext(ctx, "INSERT INTO systems (name, value) VALUES ('schema', '"+SchemaVersion+"')"); err != nil {
		return fmt.Errorf("migrating: %w", err)
	}
	return nil
}
