package refchat

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"
)

// SchemaVersion is the value of the name "schema" in a database's systems table; with another version the server
// refuses it.
const SchemaVersion = "2"

// table is one table of the real schema, for both engines. A column's type is a length (of a varchar), ID (26), a word that
// differs between the engines (BOOL, TEXT and PROPS, see create), or SQL; without one it is an ID if the column's name
// ends so, and a bigint else. Indexes are lists of columns, with semicolons between and UNIQUE or FULLTEXT before them.
type table struct{ name, key, columns, indexes string }

var tables = []table{
	{"systems", "name", "name 64, value 1024", ""},
	{"users", "id", `id, createat, updateat, deleteat, username 64 UNIQUE, password 256, authdata 128, authservice 32,
		email 128 UNIQUE, emailverified BOOL, nickname 64, firstname 64, lastname 64, position 128, roles 256,
		allowmarketing BOOL, props PROPS, notifyprops 2000, lastpasswordupdate, lastpictureupdate,
		failedattempts integer, locale 5, timezone 256, lastlogin`,
		"updateat; createat; deleteat"},
	{"bots", "userid", "userid, description 1024, ownerid 190, createat, updateat, deleteat", ""},
	{"sessions", "id", `id, token ID, createat, expiresat, lastactivityat, userid, deviceid 512, roles 64, isoauth BOOL,
		expirednotify BOOL, props 1000`,
		"userid; token; expiresat; createat; lastactivityat"},
	{"useraccesstokens", "id", "id, token ID UNIQUE, userid, description 512, isactive BOOL", "userid"},
	{"audits", "id", "id, createat, userid, action 512, extrainfo 1024, ipaddress 64, sessionid", "userid"},
	{"teams", "id", `id, createat, updateat, deleteat, displayname 64, name 64 UNIQUE, description 255, email 128, type 255,
		companyname 64, alloweddomains 1000, inviteid 32, allowopeninvite BOOL, schemeid`,
		"inviteid; updateat; createat; deleteat"},
	{"teammembers", "teamid, userid", "teamid, userid, roles 64, deleteat, schemeuser BOOL, schemeadmin BOOL, schemeguest BOOL",
		"userid; deleteat"},
	{"channels", "id", `id, createat, updateat, deleteat, teamid, type 1, displayname 64, name 64, header 1024, purpose 250, lastpostat,
		totalmsgcount, extraupdateat, creatorid, totalmsgcountroot, schemeid`,
		"UNIQUE name, teamid; teamid; name; updateat; createat; deleteat; FULLTEXT name, displayname, purpose"},
	{"channelmembers", "channelid, userid", `channelid, userid, roles 64, lastviewedat, msgcount, mentioncount, notifyprops 2000, lastupdateat,
		schemeuser BOOL, schemeadmin BOOL, schemeguest BOOL, mentioncountroot, msgcountroot`,
		"userid"},
	{"posts", "id", `id, createat, updateat, editat, deleteat, ispinned BOOL, userid, channelid, rootid, parentid, originalid,
		message TEXT, type ID, props PROPS, hashtags 1000, fileids 300, hasreactions BOOL`,
		"updateat; createat; deleteat; rootid; userid; ispinned; channelid, updateat; channelid, deleteat, createat; FULLTEXT message; FULLTEXT hashtags"},
	{"threads", "postid", "postid, channelid, replycount, lastreplyat, participants TEXT", "channelid"},
	{"threadmemberships", "postid, userid", "postid, userid, following BOOL, lastviewed, lastupdated, unreadmentions",
		"lastupdated; lastviewed; userid"},
	{"reactions", "postid, userid, emojiname", "userid, postid, emojiname 64, createat, updateat, deleteat", ""},
	{"fileinfo", "id", `id, creatorid, postid, channelid, createat, updateat, deleteat, path 512, thumbnailpath 512, previewpath 512,
		name 256, extension 64, size, mimetype 256, width integer, height integer, haspreviewimage BOOL, content TEXT`,
		"updateat; createat; deleteat; postid; extension; FULLTEXT name; FULLTEXT content"},
	{"postspriority", "postid", "postid, channelid, priority 32, requestedack BOOL, persistentnotifications BOOL", ""},
	{"postacknowledgements", "postid, userid", "postid, userid, acknowledgedat", ""},
	{"persistentnotifications", "postid", "postid, createat, lastsentat, deleteat, sentcount smallint", ""},
	{"postreminders", "postid, userid", "postid, userid, targettime", "targettime"},
	{"preferences", "userid, category, name", "userid, category 32, name 32, value 2000", "category; name"},
	{"status", "userid", "userid, status 32, manual BOOL, lastactivityat", "status"},
	{"sidebarcategories", "id", "id 128, userid, teamid, sortorder, sorting 64, type 64, displayname 64, muted BOOL, collapsed BOOL",
		"userid, teamid"},
	sidebarChannelTable, draftTable, scheduledTable, bookmarkTable, propertyFieldTable, propertyValueTable,
	{"schemes", "id", "id, defaultchanneluserrole 64, defaultchanneladminrole 64", ""},
	{"usertermsofservice", "userid", "userid, termsofserviceid, createat", ""},
	{"outgoingwebhooks", "id", "id, deleteat, channelid, teamid, triggerwords 1024, callbackurls 1024", "teamid"},
}

func tableOf(name string) table {
	return tables[slices.IndexFunc(tables, func(t table) bool { return t.name == name })]
}

// names returns the names of the columns.
func (t table) names() (list []string) {
	for c := range strings.SplitSeq(t.columns, ",") {
		list = append(list, strings.Fields(c)[0])
	}
	return list
}

func (t table) create(eng engine) string {
	types := map[string]string{"ID": "varchar(26)", "BOOL": "boolean", "TEXT": "varchar(65535)", "PROPS": "varchar(8000)"}
	suffix := ""
	if eng == mysqlEngine {
		types["BOOL"], types["TEXT"], types["PROPS"] = "tinyint(1)", "text", "text"
		suffix = " DEFAULT CHARSET = utf8mb4"
	}
	var columns []string
	for c := range strings.SplitSeq(t.columns, ",") {
		f := strings.Fields(c)
		switch {
		case len(f) > 1 && f[1][0] <= '9':
			f[1] = "varchar(" + f[1] + ")"
		case len(f) > 1:
			f[1] = cmp.Or(types[f[1]], f[1])
		case strings.HasSuffix(f[0], "id"):
			f = append(f, types["ID"])
		default:
			f = append(f, "bigint")
		}
		columns = append(columns, strings.Join(f, " "))
	}
	return fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s (%s, PRIMARY KEY (%s))%s", t.name, strings.Join(columns, ", "), t.key, suffix)
}

// index returns the statement that makes one of the table's indexes.
func (t table) index(eng engine, columns string) string {
	kind, of, _ := strings.Cut(columns, " ")
	if kind == strings.ToUpper(kind) {
		columns = of
	} else {
		kind = ""
	}
	name := "idx_" + t.name + "_" + strings.ReplaceAll(columns, ", ", "_")
	if kind == "FULLTEXT" && eng == postgresEngine {
		expr := strings.ReplaceAll(columns, ", ", " || ' ' || ")
		return fmt.Sprintf("CREATE INDEX %s ON %s USING gin (to_tsvector('english', %s))", name, t.name, expr)
	}
	return fmt.Sprintf("CREATE %s INDEX %s ON %s (%s)", kind, name, t.name, columns)
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

// migrate makes the schema in an empty database and accepts one that is there. Servers that start together wait for
// each other on an advisory lock.
func migrate(ctx context.Context, db *sql.DB, eng engine) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	c, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("migrating: %w", err)
	}
	defer c.Close()
	lock, unlock := "SELECT pg_advisory_lock(7312026)", "SELECT pg_advisory_unlock(7312026)"
	if eng == mysqlEngine {
		lock, unlock = "SELECT GET_LOCK('refchat', 60)", "SELECT RELEASE_LOCK('refchat')"
	}
	if _, err := c.ExecContext(ctx, lock); err != nil {
		return fmt.Errorf("migrating: taking the lock: %w", err)
	}
	defer func() {
		if _, uerr := c.ExecContext(context.WithoutCancel(ctx), unlock); err == nil && uerr != nil {
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
		if t.indexes == "" {
			continue
		}
		for spec := range strings.SplitSeq(t.indexes, "; ") {
			if _, err := c.ExecContext(ctx, t.index(eng, spec)); err != nil {
				return fmt.Errorf("migrating: an index of %s (%s): %w", t.name, spec, err)
			}
		}
	}
	if _, err := c.ExecContext(ctx, "INSERT INTO systems (name, value) VALUES ('schema', '"+SchemaVersion+"')"); err != nil {
		return fmt.Errorf("migrating: %w", err)
	}
	return nil
}
