package server

import (
	"context"
	"maps"
	"runtime/debug"
	"slices"
)

// A StoreInfo describes the implementation of a store.
type StoreInfo struct {
	Role string `json:"role"` // database, cache, wide, search, bus
	// Name and Version are as the store itself reports them.
	Name    string `json:"name"`
	Version string `json:"version"`
	// Real is false for the small stores of this program, which stand in for others.
	Real     bool              `json:"real"`
	Settings map[string]string `json:"settings,omitempty"`
	Error    string            `json:"error,omitempty"` // why it cannot be used now
}

// ownName is the name of the own stores.
const ownName = "Plimsoll's own"

func appendInfo(out []byte, kind string, settings map[string]string) []byte {
	out = appendText(appendText(appendText(out, kind), ownName), Version())
	out = appendInt(out, int64(len(settings)))
	for _, k := range slices.Sorted(maps.Keys(settings)) {
		out = appendText(appendText(out, k), settings[k])
	}
	return out
}

// ownInfo requests the description of an own store.
func ownInfo(ctx context.Context, l *link, op byte) (info StoreInfo, err error) {
	info.Settings = map[string]string{}
	err = l.call(ctx, newFrame(nil, op), func(f *fields) {
		info.Role, info.Name, info.Version = f.text(), f.text(), f.text()
		for range f.count() {
			k := f.text()
			info.Settings[k] = f.text()
		}
	})
	return info, err
}

// Version returns the version of this program, "devel" for one that was built from a work tree.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" &&
		info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
