package refchat

import (
	"context"
	"fmt"

	"plimsoll/reference/refchat"
	"plimsoll/reference/refchat/databases"
)

// A rule counts rows that contradict others, in a sample of a thirty-second by a column with an
// identifier, by the index on it.
type rule struct{ name, from, sample, wrong string }

var rules = []rule{
	{
		"posts in channels that are not there",
		"posts p LEFT JOIN channels c ON c.id = p.channelid",
		"p.id",
		"c.id IS NULL",
	},
	{
		"posts whose author is no member of the channel",
		"posts p LEFT JOIN channelmembers m ON m.channelid = p.channelid AND m.userid = p.userid",
		"p.id",
		"p.type = '' AND m.userid IS NULL",
	},
	{
		"replies without a root before them in the same channel",
		"posts p LEFT JOIN posts r ON r.id = p.rootid AND r.channelid = p.channelid AND r.rootid = '' AND r.createat <= p.createat",
		"p.id",
		"p.rootid <> '' AND p.deleteat = 0 AND r.id IS NULL",
	},
	{
		"threads whose number of replies is wrong",
		"threads t",
		"t.postid",
		"t.replycount <> (SELECT COUNT(*) FROM posts p WHERE p.rootid = t.postid AND p.deleteat = 0)",
	},
	{
		"threads whose last reply is at another time",
		"threads t",
		"t.postid",
		"t.lastreplyat <> (SELECT MAX(p.createat) FROM posts p WHERE p.rootid = t.postid)",
	},
	{
		"channels with another number of posts than they say",
		"channels c",
		"c.id",
		"c.totalmsgcount <> (SELECT COUNT(*) FROM posts p WHERE p.channelid = c.id AND p.deleteat = 0 AND p.type = '')",
	},
	{
		"members who have read more than there is",
		"channelmembers m JOIN channels c ON c.id = m.channelid",
		"m.channelid",
		"(m.msgcount > c.totalmsgcount OR m.msgcountroot > c.totalmsgcountroot)",
	},
	{
		"members who are no users",
		"channelmembers m LEFT JOIN users u ON u.id = m.userid",
		"m.channelid",
		"u.id IS NULL",
	},
	{
		"members of a team's channel who are not in the team",
		"channelmembers m JOIN channels c ON c.id = m.channelid LEFT JOIN teammembers t ON t.teamid = c.teamid AND t.userid = m.userid",
		"m.channelid",
		"c.teamid <> '' AND t.userid IS NULL",
	},
	{
		"reactions to posts that say they have none",
		"reactions r LEFT JOIN posts p ON p.id = r.postid",
		"r.postid",
		"r.deleteat = 0 AND (p.id IS NULL OR NOT p.hasreactions)",
	},
	{
		"files of posts that do not name them",
		"fileinfo f LEFT JOIN posts p ON p.id = f.postid",
		"f.id",
		"f.postid <> '' AND (p.id IS NULL OR p.fileids NOT LIKE CONCAT('%', f.id, '%'))",
	},
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
		text := "SELECT COUNT(*) FROM " + r.from + " WHERE " + r.sample + " >= 'y' AND " + r.sample +
			" < 'z' AND " + r.wrong
		if err := db.QueryRowContext(ctx, text).Scan(&n); err != nil {
			return nil, fmt.Errorf("looking for %s: %w", r.name, err)
		}
		if n > 0 {
			problems = append(problems, fmt.Sprint(n, " ", r.name))
		}
	}
	return problems, nil
}
