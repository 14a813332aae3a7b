package refchat

import (
	"context"
	"fmt"

	"plimsoll/reference/refchat"
	"plimsoll/reference/refchat/databases"
)

// A rule counts rows that contradict others.
type rule struct{ name, count string }

// inSample picks a thirty-second of the rows by a column with an identifier, by the index on it.
func inSample(column string) string { return column + " >= 'y' AND " + column + " < 'z'" }

var rules = []rule{
	{"posts in channels that are not there",
		"SELECT COUNT(*) FROM posts p LEFT JOIN channels c ON c.id = p.channelid WHERE " +
			inSample("p.id") + " AND c.id IS NULL"},
	{"posts whose author is no member of the channel",
		"SELECT COUNT(*) FROM posts p LEFT JOIN channelmembers m ON m.channelid = p.channelid AND m.userid = p.userid WHERE " +
			inSample("p.id") + " AND p.type = '' AND m.userid IS NULL"},
	{"replies without a root before them in the same channel",
		"SELECT COUNT(*) FROM posts p LEFT JOIN posts r ON r.id = p.rootid AND r.channelid = p.channelid AND r.rootid = '' AND r.createat <= p.createat WHERE " +
			inSample("p.id") + " AND p.rootid <> '' AND p.deleteat = 0 AND r.id IS NULL"},
	{"threads whose number of replies is wrong",
		"SELECT COUNT(*) FROM threads t WHERE " + inSample("t.postid") +
			" AND t.replycount <> (SELECT COUNT(*) FROM posts p WHERE p.rootid = t.postid AND p.deleteat = 0)"},
	{"threads whose last reply is at another time",
		"SELECT COUNT(*) FROM threads t WHERE " + inSample("t.postid") +
			" AND t.lastreplyat <> (SELECT MAX(p.createat) FROM posts p WHERE p.rootid = t.postid)"},
	{"channels with another number of posts than they say",
		"SELECT COUNT(*) FROM channels c WHERE " + inSample("c.id") +
			" AND c.totalmsgcount <> (SELECT COUNT(*) FROM posts p WHERE p.channelid = c.id AND p.deleteat = 0 AND p.type = '')"},
	{"members who have read more than there is",
		"SELECT COUNT(*) FROM channelmembers m JOIN channels c ON c.id = m.channelid WHERE " +
			inSample("m.channelid") + " AND (m.msgcount > c.totalmsgcount OR m.msgcountroot > c.totalmsgcountroot)"},
	{"members who are no users",
		"SELECT COUNT(*) FROM channelmembers m LEFT JOIN users u ON u.id = m.userid WHERE " +
			inSample("m.channelid") + " AND u.id IS NULL"},
	{"members of a team's channel who are not in the team",
		"SELECT COUNT(*) FROM channelmembers m JOIN channels c ON c.id = m.channelid LEFT JOIN teammembers t ON t.teamid = c.teamid AND t.userid = m.userid WHERE " +
			inSample("m.channelid") + " AND c.teamid <> '' AND t.userid IS NULL"},
	{"reactions to posts that say they have none",
		"SELECT COUNT(*) FROM reactions r LEFT JOIN posts p ON p.id = r.postid WHERE " + inSample(
			"r.postid",
		) +
			" AND r.deleteat = 0 AND (p.id IS NULL OR NOT p.hasreactions)"},
	{"files of posts that do not name them",
		"SELECT COUNT(*) FROM fileinfo f LEFT JOIN posts p ON p.id = f.postid WHERE " + inSample(
			"f.id",
		) +
			" AND f.postid <> '' AND (p.id IS NULL OR p.fileids NOT LIKE CONCAT('%', f.id, '%'))"},
}

// Check finds rows that contradict each other, in a sample of a thirty-second of the posts,
// channels and threads, and returns its findings, one line each. It does so on any database of the
// server.
func Check(ctx context.Context, dsn string) (problems []string, err error) {
	db, _, err := databases.Open(ctx, dsn, databases.Options{})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	var version string
	err = db.QueryRowContext(ctx, "SELECT value FROM systems WHERE name = 'schema'").Scan(&version)
	switch {
	case err != nil:
		return nil, fmt.Errorf("this is no database of the reference chat server: %w", err)
	case version == loading:
		return []string{"a load was cut short: the database is not whole"}, nil
	case version != refchat.SchemaVersion:
		return nil, fmt.Errorf(
			"the database has schema %q, this program knows %q",
			version,
			refchat.SchemaVersion,
		)
	}
	for _, r := range rules {
		var n int64
		if err := db.QueryRowContext(ctx, r.count).Scan(&n); err != nil {
			return nil, fmt.Errorf("looking for %s: %w", r.name, err)
		}
		if n > 0 {
			problems = append(problems, fmt.Sprint(n, " ", r.name))
		}
	}
	return problems, nil
}
