package api

import (
	"context"
	"encoding/json"
	"fmt"

	"plimsoll/load/wire"
)

var (
	opServerConfig = newSetupOp("server_config")
	opServerLimits = newSetupOp("server_limits")
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
func (c *Client) Config(ctx context.Context) (conf ServerConfig, err error) {
	err = c.get(ctx, opServerConfig, "/config", member("ServiceSettings", &conf))
	return conf, err
}

// ServerLimits are the accounts that a server has and takes.
type ServerLimits struct {
	Active int `json:"activeUserCount"`
	Most   int `json:"maxUsersHardLimit"` // 0: no limit
}

// Limits reads them, for administrators of a release that has them.
func (c *Client) Limits(ctx context.Context) (l ServerLimits, err error) {
	err = c.get(ctx, opServerLimits, "/limits/server", member("activeUserCount", &l))
	return l, err
}

// member decodes an object, which must have a member with this key.
func member(key string, into any) func(*wire.Response) error {
	return func(resp *wire.Response) error {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(resp.Body, &members); err != nil {
			return err
		}
		if v := members[key]; len(v) == 0 || string(v) == "null" {
			return fmt.Errorf("%w: no %s", ErrEffect, key)
		}
		return json.Unmarshal(resp.Body, into)
	}
}
