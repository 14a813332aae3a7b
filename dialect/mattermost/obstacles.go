package mattermost

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"plimsoll/dialect"
	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/workload"
)

// These settings stop a run by more than its number of users.
const (
	userLimit   = "limit of users"
	botCreation = "ServiceSettings.EnableBotAccountCreation"
	siteURL     = "ServiceSettings.SiteURL"
	webhooks    = "ServiceSettings.EnableIncomingWebhooks"
	commands    = "ServiceSettings.EnableCommands"
)

// others are the members of a team beside the persons: the administrator and the bot.
const others = 2

// obstacles reads the obstacles of a server as its administrator.
func obstacles(ctx context.Context, env workload.Env, users int) ([]dialect.Obstacle, error) {
	s, err := administered(ctx, &env)
	if err != nil {
		return nil, err
	}
	return s.obstacles(users)
}

// obstacles reads the settings, the license and the limits of the server that matter to a run of
// some users, as far as the administrator may read them.
func (s *setup) obstacles(users int) (list []dialect.Obstacle, err error) {
	err = s.with(func(c *api.Client) error {
		conf, err := c.Config(s)
		if unreadable(err) != nil {
			return err
		}
		limits, err := c.Limits(s)
		if unreadable(err) != nil {
			return err
		}
		known, err := describe(s, c)
		if err != nil {
			return err
		}
		list = obstaclesOf(conf, limits, &known, s.env.URL, users)
		return nil
	})
	return list, err
}

// unreadable returns an error unless the server has answered: a release without that call, a
// refusal to this administrator, or an answer of another form. The proofs judge the server, not
// this reading.
func unreadable(err error) error {
	if status(err) != 0 {
		return nil
	}
	return err
}

// obstaclesOf returns the obstacles of a run of some users.
func obstaclesOf(
	conf api.ServerConfig, limits api.ServerLimits, known *facts, address string, users int,
) (list []dialect.Obstacle) {
	add := func(setting string, value any, stops bool, effect string, args ...any) {
		list = append(list, dialect.Obstacle{
			Setting: setting,
			Value:   fmt.Sprint(value),
			Stops:   stops,
			Effect:  fmt.Sprintf(effect, args...),
		})
	}
	if most := conf.TeamSettings.MaxUsersPerTeam; most != nil && *most < users+others {
		add(
			"TeamSettings.MaxUsersPerTeam", *most, true,
			"a run of %d users stops when they join the team; set it to %d or more",
			users, users+others,
		)
		list[len(list)-1].Most = max(0, *most-others)
	}
	if limits.Most > 0 && limits.Active+users > limits.Most {
		add(
			userLimit, limits.Most, true,
			"the license, or its lack, allows so many accounts, and the server has %d: it makes %d of those "+
				"that a run of %d users lacks; upload a license, or run with fewer",
			limits.Active,
			max(0, limits.Most-limits.Active),
			users,
		)
		list[len(list)-1].Most = max(0, limits.Most-limits.Active-others)
	}
	if enabled := conf.RateLimitSettings.Enable; enabled != nil && *enabled {
		value := "true"
		if n := conf.RateLimitSettings.PerSec; n != nil {
			value += fmt.Sprintf(", PerSec %d", *n)
		}
		add(
			"RateLimitSettings.Enable", value, true,
			"all users of one generator share the limit of its address, and fail by 429; set it to false",
		)
	}
	site := conf.ServiceSettings.SiteURL
	if site != nil && *site != "" && pathOf(*site) != pathOf(address) {
		add(siteURL, *site, false,
			"the path of the address is %q, and the server serves below %q; "+
				"write the address with that path, unless a proxy adds it", pathOf(address), pathOf(*site))
	}
	if bots := conf.ServiceSettings.EnableBotAccountCreation; bots != nil && !*bots {
		add(
			botCreation, false, false,
			"the behavior poster stops and a run leaves out the action ask_bot unless there is a bot_token; set it to true for them",
		)
	}
	for _, off := range []struct {
		setting, action string
		on              *bool
	}{ // without which actions are left out that no mix has
		{webhooks, "post_webhook", conf.ServiceSettings.EnableIncomingWebhooks},
		{commands, "run_command", conf.ServiceSettings.EnableCommands},
	} {
		if off.on != nil && !*off.on {
			add(off.setting, false, false,
				"a run leaves out the action %s, if the weights have it; set it to true", off.action)
		}
	}
	if known.License == unlicensed {
		add("license", "none", false, "a run leaves out the actions of the outcome license")
	}
	metrics := conf.MetricsSettings.Enable
	if metrics != nil && (!*metrics || known.License < enterprise) {
		add("MetricsSettings.Enable", *metrics, false, "the server serves no metrics, "+
			"which need it and an Enterprise license; a run goes without its numbers")
	}
	return list
}

// pathOf returns the path of an address without a slash at its end, "" for an address that is empty
// or malformed.
func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.TrimRight(u.Path, "/")
}

// stopped adds the settings that stop a run of some users to an error of provisioning.
func (s *setup) stopped(err error, users int) error {
	if !answered(err) || s.token == "" || s.member || s.Err() != nil {
		return err
	}
	list, failed := s.obstacles(users)
	if failed != nil {
		return err
	}
	for _, o := range list {
		if o.Stops {
			err = fmt.Errorf("%w; %v", err, o)
		}
	}
	return err
}
