package api

import (
	"context"
	"fmt"

	"plimsoll/load/wire"
)

var (
	opClientConfig  = newOp("client_config")
	opClientLicense = newOp("client_license")
)

// ClientConfig reads the configuration that the server gives its clients; without a session it is only a part. A
// server that cannot do without the parameter format=old (those before 11) gets it: all accept it.
func (c *Client) ClientConfig(ctx context.Context) (map[string]string, error) {
	config := map[string]string{}
	err := c.get(ctx, opClientConfig, "/config/client?format=old", pairs(config, "Version"))
	return config, err
}

// ClientLicense reads the fields of the server's license.
func (c *Client) ClientLicense(ctx context.Context) (map[string]string, error) {
	license := map[string]string{}
	err := c.get(ctx, opClientLicense, "/license/client?format=old", pairs(license, "IsLicensed"))
	return license, err
}

// pairs reads the strings of an object, and requires some of them.
func pairs(into map[string]string, keys ...string) func(*wire.Response) error {
	return func(resp *wire.Response) error {
		if err := eachField(resp.Body, func(k, v []byte) error {
			if len(v) > 0 && v[0] == '"' {
				into[string(k)] = string(text(v))
			}
			return nil
		}); err != nil {
			return err
		}
		for _, key := range keys {
			if into[key] == "" {
				return fmt.Errorf("%w: no %s", ErrEffect, key)
			}
		}
		return nil
	}
}
