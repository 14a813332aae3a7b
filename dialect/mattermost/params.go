package mattermost

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"plimsoll/dialect"
	"plimsoll/workload"
)

// Behaviors lists the behaviors of this package.
func Behaviors() dialect.Registry {
	return dialect.Registry{
		"poster":     func() workload.Behavior { return &Poster{} },
		"mattermost": func() workload.Behavior { return &Person{} },
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
}

// Secrets are the names that Env.Secret is asked for, with their meaning. A setting of the same name is used if that has none.
var Secrets = map[string]string{
	"admin_password": "password of the administrator",
	"admin_token":    "token of the administrator, instead of its password",
	"bot_token":      "token of an existing bot that may post to the channels, instead of creating one",
	"user_password":  "password of the persons; derived from the administrator's secret if there is none",
}

// settings is what Params say.
type settings struct {
	admin, team, users, bot string
	channels, memberships   int
	existing                []string
	speed                   float64 // 0 means mixed
}

const maxName = 22

var (
	teamName    = regexp.MustCompile(`^[a-z][a-z0-9-]{1,30}[a-z0-9]$`)
	accountName = regexp.MustCompile(`^[a-z][a-z0-9._-]{1,40}$`)
	idForm      = regexp.MustCompile(`^[a-z0-9]{26}$`)
)

// Check reports everything that is wrong with the settings of a behavior.
func Check(params map[string]string) error {
	_, err := parse(params)
	return err
}

func parse(params map[string]string) (settings, error) {
	s := settings{admin: "sysadmin", team: "plimsoll", channels: 1, memberships: 5}
	var errs []error
	bad := func(key, want string) {
		errs = append(errs, fmt.Errorf("setting %s: %q: want %s", key, params[key], want))
	}
	str := func(key string, form *regexp.Regexp, dst *string) {
		if v, ok := params[key]; ok {
			if *dst = v; !form.MatchString(v) {
				bad(key, "a name that matches "+form.String())
			}
		}
	}
	num := func(key string, dst *int) {
		if v, ok := params[key]; ok {
			n, err := strconv.Atoi(v)
			if err != nil || n < 1 || n > 1000 {
				bad(key, "a whole number from 1 to 1000")
			}
			*dst = n
		}
	}
	for _, key := range slices.Sorted(maps.Keys(params)) {
		if _, ok := Params[key]; !ok {
			if _, ok := Secrets[key]; !ok {
				errs = append(errs, fmt.Errorf("setting %s is unknown; there are %s", key, strings.Join(slices.Sorted(maps.Keys(Params)), ", ")))
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
		errs = append(errs, fmt.Errorf("setting bot: %q is longer than %d characters", s.bot, maxName))
	}
	if len(s.users)+6 > maxName {
		errs = append(errs, fmt.Errorf("setting users: %q is longer than %d characters, which leaves no room for a number", s.users, maxName-6))
	}
	num("channels", &s.channels)
	num("memberships", &s.memberships)
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

// personPassword is the password of all persons: given, or derived from the administrator's secret so that a later run finds it again
// and nobody has to store it.
func personPassword(env *workload.Env) string {
	if v := secret(env, "user_password"); v != "" {
		return v
	}
	key := secret(env, "admin_password")
	if key == "" {
		key = secret(env, "admin_token")
	}
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte("persons of a load test"))
	return "Aa1!" + hex.EncodeToString(mac.Sum(nil)[:12])
}
