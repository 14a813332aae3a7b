package api

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"time"
)

var (
	opAnalytics = newOp("analytics", "GET /analytics/old?name=standard", setup)
	// Servers before 11 cannot do without the parameter format=old; all accept it.
	opClientConfig  = newOp("client_config", "GET /config/client?format=old")
	opClientLicense = newOp("client_license", "GET /license/client?format=old")
	opPlugins       = newOp("webapp_plugins", "GET /plugins/webapp")
	opClientPerf    = newOp("client_perf", "POST /client_perf")
	opServerConfig  = newOp("server_config", "GET /config", setup)
	opServerLimits  = newOp("server_limits", "GET /limits/server", setup)
)

// Analytics reads the server's own counts of its objects by their names in the API, such as
// post_count; for administrators. The server does not count beyond its setting
// MaxUsersForStatistics, and answers -1.
func (c *Client) Analytics(ctx context.Context) (map[string]int64, error) {
	return get(ctx, c, opAnalytics, func(b []byte) (map[string]int64, error) {
		counts := map[string]int64{}
		err := eachElement(b, func(v []byte) error {
			name := ""
			var value []byte
			err := fields(v, "name", &name, "value", &value)
			if n, ok := whole(value); ok {
				counts[name] = n
			}
			return err
		})
		for _, key := range []string{"unique_user_count", "channel_open_count", "channel_private_count",
			"post_count"} {
			_, ok := counts[key]
			err = named(err, key, ok)
		}
		return counts, err
	})
}

// ClientConfig reads the configuration that the server gives its clients; without a session it is
// only a part.
func (c *Client) ClientConfig(ctx context.Context) (map[string]string, error) {
	return get(ctx, c, opClientConfig, textsIn("Version"))
}

// ClientLicense reads the fields of the server's license.
func (c *Client) ClientLicense(ctx context.Context) (map[string]string, error) {
	return get(ctx, c, opClientLicense, textsIn("IsLicensed"))
}

// Plugins reads which plugins the web app must load.
func (c *Client) Plugins(ctx context.Context) (int, error) {
	return get(ctx, c, opPlugins, listed("id", ""))
}

// A Measurement is a duration in a client, as it is reported to the server.
type Measurement struct {
	Metric string // TTFB, page_load, channel_switch, team_switch, rhs_load, global_threads_load
	Took   time.Duration
	At     time.Time
}

// ClientPerformance reports the client's measurements since start. The server's answer may be
// empty.
func (c *Client) ClientPerformance(
	ctx context.Context, start, end time.Time, list []Measurement,
) error {
	b := append(
		c.body(),
		`{"version":"0.1.0","client_id":"","labels":{"platform":"linux","agent":"chrome"},"start":`...)
	b = strconv.AppendInt(b, start.UnixMilli(), 10)
	b = append(b, `,"end":`...)
	b = strconv.AppendInt(b, end.UnixMilli(), 10)
	b = append(b, `,"counters":[],"histograms":`...)
	b = array(b, len(list), func(b []byte, i int) []byte {
		m := &list[i]
		b = appendString(append(b, `{"metric":`...), m.Metric)
		b = append(b, `,"value":`...)
		b = strconv.AppendFloat(b, float64(m.Took)/1e6, 'f', 3, 64)
		b = append(b, `,"timestamp":`...)
		b = strconv.AppendInt(b, m.At.UnixMilli(), 10)
		return append(b, '}')
	})
	return c.do(ctx, opClientPerf, append(b, '}'), func(b []byte) error {
		if len(bytes.TrimSpace(b)) == 0 {
			return nil
		}
		return done(b)
	})
}

// A ServerConfig holds the settings of a server that bound a load, under the names of its
// configuration. A setting that the release does not have, or that the administrator may not read,
// is nil.
type ServerConfig struct {
	ServiceSettings struct {
		SiteURL                  *string
		EnableBotAccountCreation *bool
		EnableIncomingWebhooks   *bool
		EnableCommands           *bool
	}
	TeamSettings      struct{ MaxUsersPerTeam *int }
	RateLimitSettings struct {
		Enable *bool
		PerSec *int
	}
	MetricsSettings struct{ Enable *bool }
}

// Config reads the server's configuration, for administrators.
func (c *Client) Config(ctx context.Context) (ServerConfig, error) {
	return get(ctx, c, opServerConfig, having[ServerConfig]("ServiceSettings"))
}

// ServerLimits are the accounts that a server has and takes.
type ServerLimits struct {
	Active int `json:"activeUserCount"`
	Most   int `json:"maxUsersHardLimit"` // 0: no limit
}

// Limits reads the server's limits, for administrators of releases that have them.
func (c *Client) Limits(ctx context.Context) (ServerLimits, error) {
	return get(ctx, c, opServerLimits, having[ServerLimits]("activeUserCount"))
}

// having decodes an object, which must have a member with this key.
func having[T any](key string) func([]byte) (T, error) {
	return func(b []byte) (v T, err error) {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(b, &members); err != nil {
			return v, err
		}
		if m := members[key]; len(m) == 0 || string(m) == "null" {
			return v, noEffect("no %s", key)
		}
		return v, json.Unmarshal(b, &v)
	}
}
