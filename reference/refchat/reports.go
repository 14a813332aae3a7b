package refchat

import (
	"context"
	"strconv"
	"strings"
)

// userReport is one row of an administrator's report.
type userReport struct {
	user
	LastLogin    int64  `json:"last_login,omitempty"`
	LastStatusAt *int64 `json:"last_status_at,omitempty"`
	LastPostDate *int64 `json:"last_post_date,omitempty"`
	DaysActive   *int   `json:"days_active,omitempty"`
	TotalPosts   *int   `json:"total_posts,omitempty"`
}

// reportColumns are the columns by which a report can be sorted.
var reportColumns = map[string]string{
	"":          "username",
	"Username":  "username",
	"CreateAt":  "createat",
	"FirstName": "firstname",
	"LastName":  "lastname",
	"Nickname":  "nickname",
	"Email":     "email",
}

const maxReportPage = 100

// userReports reads one page behind (column value, id), in ascending order or, with desc,
// descending. Posts are counted over all time.
func (st *store) userReports(
	ctx context.Context,
	column, fromValue, fromID string,
	desc bool,
	size int,
) ([]*userReport, error) {
	op, order := ">", "ASC"
	if desc {
		op, order = "<", "DESC"
	}
	where, args := "b.userid IS NULL", []any{}
	if fromID != "" {
		where += " AND (u." + column + " " + op + " ? OR u." + column + " = ? AND u.id " + op + " ?)"
		args = append(args, fromValue, fromValue, fromID)
		if column == "createat" {
			n, _ := strconv.ParseInt(fromValue, 10, 64)
			args[0], args[1] = n, n
		}
	}
	find := selects[userReport](
		"UserStore.GetUserReport",
		"id, createat, updateat, username, email, firstname, lastname, nickname, "+
			"roles, lastlogin, laststatusat, lastpostdate, daysactive, totalposts",
		`SELECT u.id, u.createat, u.updateat, u.username, u.email, u.firstname, u.lastname, u.nickname, u.roles, COALESCE(u.lastlogin, 0), s.lastactivityat,
		(SELECT MAX(p.createat) FROM posts p WHERE p.userid = u.id), (SELECT COUNT(DISTINCT p.createat / 86400000) FROM posts p WHERE p.userid = u.id),
		(SELECT COUNT(*) FROM posts p WHERE p.userid = u.id)
		FROM users u LEFT JOIN bots b ON b.userid = u.id LEFT JOIN status s ON s.userid = u.id
		WHERE `+where+" ORDER BY u."+column+" "+order+", u.id "+order+" LIMIT ?",
	)
	return find.list(ctx, st, append(args, size)...)
}

func (q *request) getUserReport() error {
	v := q.r.URL.Query()
	column, ok := reportColumns[v.Get("sort_column")]
	if !ok {
		return badRequest("model.user_report_options.is_valid.invalid_sort_column",
			"Invalid sort column.")
	}
	size := 50
	if n, err := strconv.Atoi(v.Get("page_size")); err == nil {
		size = n
	}
	if size < 1 || size > maxReportPage {
		return badRequest("api.getUsersForReporting.invalid_page_size", "Invalid page size.")
	}
	list, err := q.st.userReports(
		q,
		column,
		v.Get("from_column_value"),
		v.Get("from_id"),
		v.Get("sort_direction") == "desc",
		size,
	)
	return q.answer(list, errStore("report.get_user_report", err))
}

func (q *request) getUserReportCount() error {
	n, err := q.st.countUsers(q, false)
	return q.answer(n, errStore("report.get_user_count", err))
}

// clientTimes are the measurements that clients may send, and the names under which they are kept.
var clientTimes = map[string]string{
	"TTFB":                "time_to_first_byte",
	"TTLB":                "time_to_last_byte",
	"page_load":           "page_load",
	"channel_switch":      "channel_switch",
	"team_switch":         "team_switch",
	"rhs_load":            "rhs_load",
	"global_threads_load": "global_threads_load",
}

// performance has a client's own measurements.
type performance struct {
	Version    string            `json:"version"`
	Labels     map[string]string `json:"labels"`
	Start      float64           `json:"start"`
	End        float64           `json:"end"`
	Histograms []struct {
		Metric string  `json:"metric"`
		Value  float64 `json:"value"`
	} `json:"histograms"`
}

// clientPerformance records a client's own measurements.
func (q *request) clientPerformance(in *performance) error {
	if !strings.HasPrefix(in.Version, "0.1.") && !strings.HasPrefix(in.Version, "0.0.") ||
		in.Start > in.End ||
		in.End < float64(millis()-300_000) {
		return errBody("submitPerformanceReport")
	}
	known := func(v string, of ...string) string {
		for _, x := range of {
			if strings.EqualFold(v, x) {
				return x
			}
		}
		return "other"
	}
	platform := known(in.Labels["platform"], "linux", "macos", "ios", "android", "windows")
	agent := known(in.Labels["agent"], "desktop", "firefox", "chrome", "safari", "edge")
	for _, h := range in.Histograms {
		if vec := q.met.client[h.Metric]; vec != nil {
			vec.WithLabelValues(platform, agent).Observe(h.Value / 1000)
		}
	}
	return q.ok()
}
