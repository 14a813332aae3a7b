package mattermost

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/dialect"
	"plimsoll/load/workload"
)

// Behaviors lists the behaviors of this package.
func Behaviors() dialect.Registry {
	return dialect.Registry{
		Posting: func() workload.Behavior { return &Poster{} },
		living:  func() workload.Behavior { return &Person{} },
	}
}

// Params are the settings of both behaviors, with their meaning. All are optional.
var Params = map[string]string{
	"admin":       "login name of the administrator; on an empty server it is created (default sysadmin)",
	"team":        "name of the team that is used or created (default plimsoll)",
	"channels":    "number of channels named TEAM-000, TEAM-001, ... over which poster users are spread by number, and from which persons have theirs (1 to 1000, default 1)",
	"channel":     "ids of existing channels, separated by commas, instead of channels; with it and bot_token, poster needs no administrator",
	"memberships": "how many of the channels each person is a member of, besides the team's own two (1 to 1000, default 5, at most all)",
	"users":       "beginning of the persons' user names (default TEAM-user-)",
	"bot":         "user name of the bot that poster users share (default TEAM-bot)",
	"speed":       "mixed: persons' think times are multiplied by 1, 2, 3, 6 or 30 for 5, 10, 15, 40 and 30 % of them; or one number for all (default mixed)",

	"think":       "distribution of think times, mean 20 s: lognormal (default) or uniform from 1 to 39 s (default of the mix loadtest-ng)",
	"popularity":  "exponent of Zipf's law by which persons choose among their channels, in the order of their names; 0 is uniform (default 1; mix loadtest-ng: 0)",
	"fanout":      "share of a person's channel switches that lead to the largest channel of the team (default 5%; mix loadtest-ng: 0%)",
	"recency":     "how many posts back the post lies on average that persons answer, react to or open; 0 is uniform over the 60 they see (default 8; mix loadtest-ng: 0)",
	"images":      "cache: pictures of users are read once, as browsers do; revalidate: asked for each time, with the tag; off (default cache; mix loadtest-ng: revalidate)",
	"parallel":    "on: calls that a browser makes at the same time go out at the same time; off: one after the other (default on; mix loadtest-ng: off)",
	"connections": "HTTP connections that one person may have at a time (1 to 100, default 6, as browsers have for one server)",
	"periodic":    "on: every minute a person asks for the presence of those in view; off (default on)",
	"visit":       "mean number of actions of a visit, after which a person goes away for a while; 0: it never ends (0 to 100000, default 0)",
	"away":        "mean time between two visits (default 15m)",
	"sign_up":     "share of persons that have no account before the run: with cold logins, they make one and join the team and its channels (default 0%)",
	"leave":       "share of visits at whose end a person closes its window, and reloads everything at its return (default 0%)",
	"devices":     "WebSockets per person, for a desktop and a phone; 1.5 gives every second person two (1 to 3, default 1)",
	"direct":      "direct channels that each person has from the beginning, besides one group channel of three (0 to 20, default 2, if the mix opens any)",
}

// Secrets are the names that Env.Secret is asked for, with their meaning. A setting of the same name is used if that
// has none.
var Secrets = map[string]string{
	"admin_password": "password of the administrator",
	"admin_token":    "token of the administrator, instead of its password",
	"bot_token":      "token of an existing bot that may post to the channels, instead of creating one",
	"user_password":  "password of the persons; derived from the administrator's secret if there is none",
}

// settings holds the values of Params.
type settings struct {
	admin, team, users, bot string
	channels, memberships   int
	existing                []string
	speed                   float64 // 0 means mixed

	think               func(*rand.Rand) time.Duration
	popularity, recency float64
	fanout, leave       float64 // 0 to 1
	signUp              float64 // 0 to 1
	images              imagePolicy
	parallel, periodic  bool
	passing             bool // a direct channel is looked at in passing
	connections, direct int
	visit, devices      float64
	away                time.Duration
}

// An imagePolicy selects how persons get the pictures of users.
type imagePolicy uint8

const (
	imagesCache imagePolicy = iota
	imagesRevalidate
	imagesOff
)

// preset are the settings that come with a mix.
func preset(mix string) settings {
	s := settings{
		admin: "sysadmin", team: "plimsoll", channels: 1, memberships: 5, connections: 6, direct: 2, devices: 1,
		think: heavyThink, popularity: 1, recency: 8, fanout: 0.05, parallel: true, periodic: true, away: 15 * time.Minute,
	}
	if mix == "loadtest-ng" {
		s.think, s.popularity, s.recency, s.fanout = uniformThink, 0, 0, 0
		s.images, s.parallel, s.passing = imagesRevalidate, false, true
	}
	return s
}

const maxName = 22

var (
	teamName    = regexp.MustCompile(`^[a-z][a-z0-9-]{1,30}[a-z0-9]$`)
	accountName = regexp.MustCompile(`^[a-z][a-z0-9._-]{1,40}$`)
	idForm      = regexp.MustCompile(`^[a-z0-9]{26}$`)
)

// Check reports everything that is wrong with the settings of a behavior.
func Check(params map[string]string) error {
	_, err := parse(params, DefaultMix)
	return err
}

// parse reads settings on top of those of a mix.
func parse(params map[string]string, mix string) (settings, error) {
	s := preset(mix)
	var errs []error
	bad := func(key, want string) {
		errs = append(errs, &dialect.SettingError{Key: key, Problem: fmt.Sprintf("%q: want %s", params[key], want)})
	}
	str := func(key string, form *regexp.Regexp, dst *string) {
		if v, ok := params[key]; ok {
			if *dst = v; !form.MatchString(v) {
				bad(key, "a name that matches "+form.String())
			}
		}
	}
	num := func(key string, dst *int, least, most int) {
		if v, ok := params[key]; ok {
			n, err := strconv.Atoi(v)
			if err != nil || n < least || n > most {
				bad(key, fmt.Sprintf("a whole number from %d to %d", least, most))
			}
			*dst = n
		}
	}
	real := func(key string, dst *float64, least, most float64) {
		if v, ok := params[key]; ok {
			x, err := strconv.ParseFloat(v, 64)
			if err != nil || !(x >= least && x <= most) {
				bad(key, fmt.Sprintf("a number from %v to %v", least, most))
			}
			*dst = x
		}
	}
	share := func(key string, dst *float64) {
		if v, ok := params[key]; ok {
			x, err := strconv.ParseFloat(strings.TrimSuffix(v, "%"), 64)
			if err != nil || !strings.HasSuffix(v, "%") || !(x >= 0 && x <= 100) {
				bad(key, "a share from 0% to 100%")
			}
			*dst = x / 100
		}
	}
	choice := func(key string, options ...string) string {
		v, ok := params[key]
		if ok && !slices.Contains(options, v) {
			bad(key, strings.Join(options, " or "))
		}
		return v
	}
	for _, key := range slices.Sorted(maps.Keys(params)) {
		if _, ok := Params[key]; !ok {
			if _, ok := Secrets[key]; !ok {
				errs = append(errs, dialect.UnknownSetting(key, Params))
			}
		}
	}
	str("admin", accountName, &s.admin)
	str("team", teamName, &s.team)
	s.users, s.bot = s.team+"-user-", s.team+"-bot"
	str("users", accountName, &s.users)
	str("bot", accountName, &s.bot)
	// The server allows user names of 22 characters.
	if len(s.bot) > maxName {
		errs = append(errs, &dialect.SettingError{Key: "bot", Problem: fmt.Sprintf("%q is longer than %d characters", s.bot, maxName)})
	}
	if len(s.users)+6 > maxName {
		errs = append(errs, &dialect.SettingError{Key: "users", Problem: fmt.Sprintf("%q is longer than %d characters, which leaves no room for a number", s.users, maxName-6)})
	}
	num("channels", &s.channels, 1, 1000)
	num("memberships", &s.memberships, 1, 1000)
	num("connections", &s.connections, 1, 100)
	num("direct", &s.direct, 0, 20)
	real("popularity", &s.popularity, 0, 5)
	real("recency", &s.recency, 0, 1000)
	real("visit", &s.visit, 0, 100000)
	real("devices", &s.devices, 1, 3)
	share("fanout", &s.fanout)
	share("leave", &s.leave)
	share("sign_up", &s.signUp)
	switch choice("think", "lognormal", "uniform") {
	case "lognormal":
		s.think = heavyThink
	case "uniform":
		s.think = uniformThink
	}
	switch choice("images", "cache", "revalidate", "off") {
	case "cache":
		s.images = imagesCache
	case "revalidate":
		s.images = imagesRevalidate
	case "off":
		s.images = imagesOff
	}
	if v := choice("parallel", "on", "off"); v != "" {
		s.parallel = v == "on"
	}
	if v := choice("periodic", "on", "off"); v != "" {
		s.periodic = v == "on"
	}
	if v, ok := params["away"]; ok {
		d, err := time.ParseDuration(v)
		if err != nil || d <= 0 || d > 24*time.Hour {
			bad("away", "a time up to 24h, such as 15m")
		}
		s.away = d
	}
	if v := params["channel"]; v != "" {
		for id := range strings.SplitSeq(v, ",") {
			id = strings.TrimSpace(id)
			if !idForm.MatchString(id) {
				bad("channel", "ids of 26 lower-case letters and digits, separated by commas")
				break
			}
			s.existing = append(s.existing, id)
		}
		s.channels = len(s.existing)
	}
	if v, ok := params["speed"]; ok && v != "mixed" {
		f, err := strconv.ParseFloat(v, 64)
		if err != nil || !(f >= 0.01 && f <= 1000) {
			bad("speed", "mixed, or a number from 0.01 to 1000")
		}
		s.speed = f
	}
	s.memberships = min(s.memberships, s.channels)
	return s, errors.Join(errs...)
}

// secret finds a secret by name.
func secret(env *workload.Env, name string) string {
	if env.Secret != nil {
		if v := env.Secret(name); v != "" {
			return v
		}
	}
	if v := env.Params[name]; !strings.HasPrefix(v, "${") {
		return v
	}
	return ""
}

// personPassword is the password of all persons: given, or derived from the administrator's secret so that a later
// run finds it again and it need not be stored.
func personPassword(env *workload.Env) string {
	if v := secret(env, "user_password"); v != "" {
		env.Secrets.Add(v)
		return v
	}
	key := secret(env, "admin_password")
	if key == "" {
		key = secret(env, "admin_token")
	}
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte("persons of a load test"))
	derived := "Aa1!" + hex.EncodeToString(mac.Sum(nil)[:12])
	env.Secrets.Add(derived)
	return derived
}
