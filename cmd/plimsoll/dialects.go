package main

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"plimsoll/dialect"
	"plimsoll/dialect/mattermost"
	"plimsoll/dialect/newsfeed"
)

// behaviors are those of all dialects.
func behaviors() dialect.Registry {
	all := mattermost.Behaviors()
	maps.Copy(all, newsfeed.Behaviors())
	return all
}

// opNames are the operations of all dialects, of which rules may speak.
func opNames() []string {
	all := slices.Concat(mattermost.Ops(), newsfeed.Ops())
	slices.Sort(all)
	return slices.Compact(all)
}

// isSetting reports whether a behavior knows a setting of that name that is no secret.
func isSetting(name string) bool {
	_, a := mattermost.Params[name]
	_, b := newsfeed.Params[name]
	return a || b
}

// checkReferences reports values of settings that are references to secrets under names that nothing asks for.
func checkReferences(params map[string]string) error {
	for _, k := range slices.Sorted(maps.Keys(params)) {
		if _, secret := mattermost.Secrets[k]; strings.Contains(params[k], "${") && !secret && !isSetting(k) {
			return &dialect.SettingError{Key: k, Problem: "is unknown as a reference to a secret; there are " + strings.Join(slices.Sorted(maps.Keys(mattermost.Secrets)), ", ")}
		}
	}
	return nil
}

// checkSettings reports what is wrong with the settings of the named behaviors, which are of one dialect.
func checkSettings(names []string, params map[string]string) error {
	feeds := 0
	for _, n := range names {
		if newsfeed.Behaviors()[n] != nil {
			feeds++
		}
	}
	switch feeds {
	case 0:
		return mattermost.Check(params)
	case len(names):
		return newsfeed.Check(params)
	}
	return errors.New("behaviors of two kinds of server do not go together")
}
