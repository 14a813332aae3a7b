package api

import (
	"context"
)

// Servers before 11 cannot do without the parameter format=old; all accept it.
var (
	opClientConfig  = newOp("client_config", "GET /config/client?format=old")
	opClientLicense = newOp("client_license", "GET /license/client?format=old")
)

// ClientConfig reads the configuration that the server gives its clients; without a session it is only a part.
func (c *Client) ClientConfig(ctx context.Context) (map[string]string, error) {
	return get(ctx, c, opClientConfig, textsIn("Version"))
}

// ClientLicense reads the fields of the server's license.
func (c *Client) ClientLicense(ctx context.Context) (map[string]string, error) {
	return get(ctx, c, opClientLicense, textsIn("IsLicensed"))
}

// textsIn reads the strings of an object, and requires some of them.
func textsIn(keys ...string) func([]byte) (map[string]string, error) {
	return func(b []byte) (map[string]string, error) {
		into := map[string]string{}
		err := eachField(b, func(k, v []byte) error {
			if len(v) > 0 && v[0] == '"' {
				into[string(k)] = string(text(v))
			}
			return nil
		})
		for _, key := range keys {
			if err == nil && into[key] == "" {
				err = noEffect("no %s", key)
			}
		}
		return into, err
	}
}
