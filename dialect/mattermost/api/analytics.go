package api

import (
	"context"
	"fmt"

	"plimsoll/load/wire"
)

var opAnalytics = newSetupOp("analytics")

// Analytics reads the server's own counts of its objects by their names in the API, such as post_count; for
// administrators. A count of -1 is one that the server does not make, as with more users than its setting
// MaxUsersForStatistics.
func (c *Client) Analytics(ctx context.Context) (map[string]int64, error) {
	counts := map[string]int64{}
	err := c.get(ctx, opAnalytics, "/analytics/old?name=standard", func(resp *wire.Response) error {
		clear(counts)
		if err := eachElement(resp.Body, func(v []byte) error {
			name, value, ok := "", int64(0), false
			if err := eachField(v, func(k, v []byte) error {
				switch string(k) {
				case "name":
					name = string(text(v))
				case "value":
					value, ok = whole(v)
				}
				return nil
			}); err != nil {
				return err
			}
			if ok {
				counts[name] = value
			}
			return nil
		}); err != nil {
			return err
		}
		for _, key := range []string{"unique_user_count", "channel_open_count", "channel_private_count", "post_count"} {
			if _, ok := counts[key]; !ok {
				return fmt.Errorf("%w: no %s", ErrEffect, key)
			}
		}
		return nil
	})
	return counts, err
}
