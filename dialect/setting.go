package dialect

import (
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
		strings.Join(slices.Sorted(maps.Keys(known)), ", ")}
}
