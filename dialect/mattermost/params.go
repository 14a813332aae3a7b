package mattermost

import (
	"cmp"
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

// Secrets are the names in Env.Secret, with their meaning. A setting of the same name stands in for
// a missing secret.
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
		admin:       "sysadmin",
		team:        "plimsoll",
		channels:    1,
		memberships: 5,
		connections: 6,
		direct:      2,
		devices:     1,
		think:       heavyThink,
		popularity:  1,
		recency:     8,
		fanout:      0.05,
		parallel:    true,
		periodic:    true,
		away:        15 * time.Minute,
	}
	if mix == "loadtest-ng" {
		s.think = uniformThink
		s.popularity = 0
		s.recency = 0
		s.fanout = 0
		s.images = imagesRevalidate
		s.parallel = false
		s.passing = true
	}
	return s
}

const maxName = 22 // characters of a user name, on every server

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

// parse reads settings on top of a mix's own.
func parse(params map[string]string, mix string) (settings, error) {
	s := preset(mix)
	p := &parser{params: params}
	p.unknown()
	p.name("admin", accountName, &s.admin)
	p.name("team", teamName, &s.team)
	s.users = s.team + "-user-"
	s.bot = s.team + "-bot"
	p.name("users", accountName, &s.users)
	p.name("bot", accountName, &s.bot)
	if len(s.bot) > maxName {
		p.wrong("bot", "%q is longer than %d characters", s.bot, maxName)
	}
	if len(s.users)+6 > maxName {
		p.wrong(
			"users",
			"%q is longer than %d characters, which leaves no room for a number",
			s.users,
			maxName-6,
		)
	}
	p.whole("channels", &s.channels, 1, 1000)
	p.whole("memberships", &s.memberships, 1, 1000)
	p.whole("connections", &s.connections, 1, 100)
	p.whole("direct", &s.direct, 0, 20)
	p.real("popularity", &s.popularity, 0, 5)
	p.real("recency", &s.recency, 0, 1000)
	p.real("visit", &s.visit, 0, 100000)
	p.real("devices", &s.devices, 1, 3)
	p.share("fanout", &s.fanout)
	p.share("leave", &s.leave)
	p.share("sign_up", &s.signUp)
	choose(p, "think", &s.think, "lognormal or uniform", heavyThink, uniformThink)
	choose(p, "images", &s.images, "cache or revalidate or off", imagesCache, imagesRevalidate,
		imagesOff)
	choose(p, "parallel", &s.parallel, "on or off", true, false)
	choose(p, "periodic", &s.periodic, "on or off", true, false)
	read(p, "away", &s.away, "a time up to 24h, such as 15m", func(v string) (time.Duration, bool) {
		d, err := time.ParseDuration(v)
		return d, err == nil && d > 0 && d <= 24*time.Hour
	})
	read(
		p,
		"speed",
		&s.speed,
		"mixed, or a number from 0.01 to 1000",
		func(v string) (float64, bool) {
			if v == "mixed" {
				return 0, true
			}
			return number(v, 0.01, 1000)
		},
	)
	read(p, "channel", &s.existing, "ids of 26 lower-case letters and digits, separated by commas",
		identifiers)
	if len(s.existing) > 0 {
		s.channels = len(s.existing)
	}
	s.memberships = min(s.memberships, s.channels)
	return s, errors.Join(p.errs...)
}

// A parser reads values and collects what is wrong with them. A setting that is not given keeps its
// value.
type parser struct {
	params map[string]string
	errs   []error
}

func (p *parser) wrong(key, format string, args ...any) {
	p.errs = append(p.errs, &dialect.SettingError{Key: key, Problem: fmt.Sprintf(format, args...)})
}

// unknown refuses keys that are neither settings nor secrets.
func (p *parser) unknown() {
	for _, key := range slices.Sorted(maps.Keys(p.params)) {
		_, setting := Params[key]
		if _, secret := Secrets[key]; !setting && !secret {
			p.errs = append(p.errs, dialect.UnknownSetting(key, Params))
		}
	}
}

// read stores the value of a setting; parse reports whether it is good.
func read[T any](p *parser, key string, to *T, want string, parse func(v string) (T, bool)) {
	v, ok := p.params[key]
	if !ok {
		return
	}
	if *to, ok = parse(v); !ok {
		p.wrong(key, "%q: want %s", v, want)
	}
}

// choose stores the value that one of the names in want stands for.
func choose[T any](p *parser, key string, to *T, want string, values ...T) {
	read(p, key, to, want, func(v string) (chosen T, ok bool) {
		if k := slices.Index(strings.Split(want, " or "), v); k >= 0 {
			return values[k], true
		}
		return chosen, false
	})
}

func (p *parser) name(key string, form *regexp.Regexp, to *string) {
	read(p, key, to, "a name that matches "+form.String(), func(v string) (string, bool) {
		return v, form.MatchString(v)
	})
}

func (p *parser) whole(key string, to *int, least, most int) {
	read(p, key, to, fmt.Sprintf("a whole number from %d to %d", least, most),
		func(v string) (int, bool) {
			n, err := strconv.Atoi(v)
			return n, err == nil && n >= least && n <= most
		})
}

func (p *parser) real(key string, to *float64, least, most float64) {
	read(p, key, to, fmt.Sprintf("a number from %v to %v", least, most),
		func(v string) (float64, bool) {
			return number(v, least, most)
		})
}

func (p *parser) share(key string, to *float64) {
	read(p, key, to, "a share from 0% to 100%", func(v string) (float64, bool) {
		v, is := strings.CutSuffix(v, "%")
		x, ok := number(v, 0, 100)
		return x / 100, ok && is
	})
}

func number(v string, least, most float64) (x float64, ok bool) {
	x, err := strconv.ParseFloat(v, 64)
	return x, err == nil && x >= least && x <= most
}

func identifiers(list string) (ids []string, ok bool) {
	if list == "" {
		return nil, true
	}
	for id := range strings.SplitSeq(list, ",") {
		ids = append(ids, strings.TrimSpace(id))
	}
	return ids, !slices.ContainsFunc(ids, func(id string) bool { return !idForm.MatchString(id) })
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

// personPassword is the password of all persons: given, or derived from the administrator's secret
// so that a later run finds it again and it need not be stored.
func personPassword(env *workload.Env) string {
	if v := secret(env, "user_password"); v != "" {
		env.Secrets.Add(v)
		return v
	}
	key := cmp.Or(secret(env, "admin_password"), secret(env, "admin_token"))
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte("persons of a load test"))
	derived := "Aa1!" + hex.EncodeToString(mac.Sum(nil)[:12])
	env.Secrets.Add(derived)
	return derived
}
