package refchat

import (
	"context"
)

// analyticsRow is one of an administrator's statistics of the system.
type analyticsRow struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// analytics counts channels by type, all posts, accounts without bots, and teams.
func (st *store) analytics(ctx context.Context) (rows []analyticsRow, err error) {
	defer st.timed("ChannelStore.AnalyticsTypeCount", &err)()
	count := func(name, query string, args ...any) {
		var n int64
		if err == nil {
			err = st.row(ctx, []any{&n}, query, args...)
		}
		rows = append(rows, analyticsRow{name, float64(n)})
	}
	count("channel_open_count", "SELECT COUNT(*) FROM channels WHERE type = ?", "O")
	count("channel_private_count", "SELECT COUNT(*) FROM channels WHERE type = ?", "P")
	count("post_count", "SELECT COUNT(*) FROM posts")
	count(
		"unique_user_count",
		"SELECT COUNT(*) FROM users u LEFT JOIN bots b ON b.userid = u.id WHERE u.deleteat = 0 AND b.userid IS NULL",
	)
	count("team_count", "SELECT COUNT(*) FROM teams")
	return rows, err
}

func (q *request) getAnalytics() error {
	if name := q.query("name"); name != "" && name != "standard" {
		return errURL("name")
	}
	rows, err := q.st.analytics(q)
	return q.answer(rows, errStore("analytics.get", err))
}
