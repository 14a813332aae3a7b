package newsfeed

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"plimsoll/dialect"
)

// Params are the settings of the behavior, with their meaning. All are optional.
var Params = map[string]string{
	"preset":    "what a batch is made of: " + strings.Join(presetNames(), ", ") + " (default blog-code)",
	"api":       "generation of the interface: rest or legacy (default rest)",
	"body":      "encoding of requests: json or form (default json)",
	"searchers": "how many of every ten users search instead of posting: the last of each ten, by number (0 to 10, default 0; preset mixed-10: 1)",
}

// A preset is a shape of the load.
type preset struct {
	literal   bool // everyone posts, and has 2 to 4 friends
	stories   int  // of each who posts
	words     int  // of a story
	searchers int  // of every ten users
}

// presets are those of the study. How many users there are is the plan's: 3 in blog-code and
// blog-literal, 12 to 17 in blog-scale, which is blog-code otherwise, 10 in mixed-10.
var presets = map[string]preset{
	"blog-code":    {stories: 10, words: 150},
	"blog-literal": {stories: 10, words: 150, literal: true},
	"blog-scale":   {stories: 10, words: 150},
	"mixed-10":     {stories: 10, words: 150, searchers: 1},
	"rdbms-heavy":  {stories: 1, words: 5},
}

func presetNames() []string { return slices.Sorted(maps.Keys(presets)) }

// means returns the mean numbers of friendships and stories in a batch.
func (p preset) means() (friendships, stories float64) {
	if p.literal {
		// The circle has 10; of a couple that becomes friends (5 of 10 in two rounds), 10 of 45
		// pairs are on it, and of the second round's some are in the first's: 5/2 · 7/9 new ones,
		// then 5/2 · (1 - (10 + 5/2·7/9)/45).
		first := 2.5 * 7 / 9
		return people + first + 2.5*(1-(people+first)/45), float64(people * p.stories)
	}
	invited := float64(minInvited+maxInvited-1) / 2
	return inviters * invited * (people - 1) / people, invited * float64(p.stories)
}

// settings holds the values of Params.
type settings struct {
	preset
	legacy, form bool
}

// Check reports everything that is wrong with the settings.
func Check(params map[string]string) error {
	_, err := parse(params)
	return err
}

func parse(params map[string]string) (settings, error) {
	var errs []error
	choice := func(key, otherwise string, options ...string) string {
		v, ok := params[key]
		if !ok {
			return otherwise
		}
		if !slices.Contains(options, v) {
			errs = append(errs, &dialect.SettingError{
				Key:     key,
				Problem: fmt.Sprintf("%q: want %s", v, strings.Join(options, " or ")),
			})
		}
		return v
	}
	for _, key := range slices.Sorted(maps.Keys(params)) {
		if _, ok := Params[key]; !ok {
			errs = append(errs, dialect.UnknownSetting(key, Params))
		}
	}
	s := settings{preset: presets[choice("preset", "blog-code", presetNames()...)]}
	s.legacy = choice("api", "rest", "rest", "legacy") == "legacy"
	s.form = choice("body", "json", "json", "form") == "form"
	if v, ok := params["searchers"]; ok {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 || n > 10 {
			errs = append(errs, &dialect.SettingError{
				Key:     "searchers",
				Problem: fmt.Sprintf("%q: want a whole number from 0 to 10", v),
			})
		}
		s.searchers = n
	}
	return s, errors.Join(errs...)
}

// searches reports whether the user of this rank searches.
func (s settings) searches(rank int) bool { return rank%10 >= 10-s.searchers }
