package dialect

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
)

// A SettingError describes a problem with one setting of a behavior.
type SettingError struct {
	Key string
	// Problem names the value and the accepted ones, or reports an unknown key and names the known
	// ones.
	Problem string
}

// Error names the setting.
func (e *SettingError) Error() string {
	if strings.HasPrefix(e.Problem, "is ") {
		return "setting " + e.Key + " " + e.Problem
	}
	return "setting " + e.Key + ": " + e.Problem
}

// UnknownSetting is the error of a key that is not among the known ones.
func UnknownSetting(key string, known map[string]string) *SettingError {
	return &SettingError{key, "is unknown; there are " +
		cmp.Or(strings.Join(slices.Sorted(maps.Keys(known)), ", "), "none")}
}

// check reports everything that is wrong with values.
func (s Settings) check(params map[string]string) error {
	if s.Check != nil {
		return s.Check(params)
	}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(params)) {
		if _, ok := s.Params[key]; !ok {
			errs = append(errs, UnknownSetting(key, s.Params))
		}
	}
	return errors.Join(errs...)
}
