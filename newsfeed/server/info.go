package server

import (
	"context"
	"maps"
	"runtime/debug"
	"slices"
	"strconv"
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

// An ownStore is the client of an own store: the operation of its description, and the settings in
// it that count rows.
type ownStore struct {
	*link
	info   byte
	counts []string
}

// Describe requests the store's description.
func (s ownStore) Describe(ctx context.Context) (info StoreInfo, err error) {
	info.Settings = map[string]string{}
	err = s.call(ctx, newFrame(nil, s.info), func(f *fields) {
		info.Role, info.Name, info.Version = f.text(), f.text(), f.text()
		for range f.count() {
			k := f.text()
			info.Settings[k] = f.text()
		}
	})
	return info, err
}

// rows implements counter.
func (s ownStore) rows(ctx context.Context) (map[string]int64, error) {
	info, err := s.Describe(ctx)
	out := map[string]int64{}
	for _, name := range s.counts {
		if err != nil {
			break
		}
		out[name], err = strconv.ParseInt(info.Settings[name], 10, 64)
	}
	return out, err
}

// Version returns the version of this program, "devel" for one that was built from a work tree.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" &&
		info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
