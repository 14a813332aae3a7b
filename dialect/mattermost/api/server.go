package api

import (
	"context"
	"encoding/json"
)

var (
	opServerConfig = newOp("server_config", "GET /config", setup)
	opServerLimits = newOp("server_limits", "GET /limits/server", setup)
)

// A ServerConfig holds the settings of a server that bound a load, under the names of its
// configuration. A setting that the release does not have, or that the administrator may not read,
// is nil.
type ServerConfig struct {
	ServiceSettings struct {
		SiteURL                  *string
		EnableBotAccountCreation *bool
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

// Limits reads them, for administrators of a release that has them.
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
