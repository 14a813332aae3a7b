package mattermost

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"plimsoll/wire"
)

// A feature is an ability of the server that not every one has. An action names the one it needs.
type feature uint8

const (
	always feature = iota // every server that this package can talk to
	numFeatures
)

// A featureSpec says when a server has a feature.
type featureSpec struct {
	name     string
	since    version // of the server's first release with the API
	config   string  // key of the client configuration that must be "true" ("" if none)
	licensed bool
	source   string // where since was read
}

var featureSpecs = [numFeatures]featureSpec{
	always: {name: "the API itself", source: "API v4 reference"},
}

// A version is a release of the server: major, minor, patch.
type version [3]int

// parseVersion reads the beginning of "5.37.0.5.37.0.hash.false" or "10.5.1". What it cannot read is 0.
func parseVersion(s string) (v version) {
	parts := strings.SplitN(s, ".", 4)
	for i := range min(3, len(parts)) {
		v[i], _ = strconv.Atoi(parts[i])
	}
	return v
}

// String writes the version as releases are named.
func (v version) String() string { return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]) }

func (v version) before(w version) bool {
	for i := range v {
		if v[i] != w[i] {
			return v[i] < w[i]
		}
	}
	return false
}

// facts are what one server says of itself.
type facts struct {
	version  version
	config   map[string]string // its configuration for clients
	licensed bool
}

// lacks returns why the server does not have a feature, or "".
func (s *facts) lacks(f feature) string {
	spec := &featureSpecs[f]
	switch {
	case s.version.before(spec.since):
		return fmt.Sprintf("%s: since %s, the server is %s", spec.name, spec.since, s.version)
	case spec.licensed && !s.licensed:
		return fmt.Sprintf("%s: needs a license", spec.name)
	case spec.config != "" && s.config[spec.config] != "true":
		return fmt.Sprintf("%s: the server has %s off", spec.name, spec.config)
	}
	return ""
}

var (
	opClientConfig  = newOp("client_config")
	opClientLicense = newOp("client_license")
)

// ClientConfig reads what the server tells its clients about itself. A server that cannot do without the parameter format=old
// (those before 11) gets it: all accept it.
func (c *Client) ClientConfig(ctx context.Context) (map[string]string, error) {
	config := map[string]string{}
	err := c.get(ctx, opClientConfig, "/config/client?format=old", pairs(config))
	return config, err
}

// ClientLicense reads what the server tells about its license.
func (c *Client) ClientLicense(ctx context.Context) (map[string]string, error) {
	license := map[string]string{}
	err := c.get(ctx, opClientLicense, "/license/client?format=old", pairs(license))
	return license, err
}

// pairs reads the strings of an object.
func pairs(into map[string]string) func(*wire.Response) error {
	return func(resp *wire.Response) error {
		return eachField(resp.Body, func(k, v []byte) error {
			if len(v) > 0 && v[0] == '"' {
				into[string(k)] = string(text(v))
			}
			return nil
		})
	}
}

// describe asks a server what it is.
func describe(ctx context.Context, c *Client) (*facts, error) {
	config, err := c.ClientConfig(ctx)
	if err != nil {
		return nil, err
	}
	license, err := c.ClientLicense(ctx)
	if err != nil {
		return nil, err
	}
	return &facts{version: parseVersion(config["Version"]), config: config, licensed: license["IsLicensed"] == "true"}, nil
}
