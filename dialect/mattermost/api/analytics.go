package api

import (
	"context"
)

var opAnalytics = newOp("analytics", "GET /analytics/old?name=standard", setup)

// Analytics reads the server's own counts of its objects by their names in the API, such as post_count; for
// administrators. A count of -1 is one that the server does not make, as with more users than its setting
// MaxUsersForStatistics.
func (c *Client) Analytics(ctx context.Context) (map[string]int64, error) {
	return get(ctx, c, opAnalytics, func(b []byte) (map[string]int64, error) {
		counts := map[string]int64{}
		err := eachElement(b, func(v []byte) error {
			name, value, ok := "", int64(0), false
			err := eachField(v, func(k, v []byte) error {
				switch string(k) {
				case "name":
					name = string(text(v))
				case "value":
					value, ok = whole(v)
				}
				return nil
			})
			if ok {
				counts[name] = value
			}
			return err
		})
		for _, key := range []string{"unique_user_count", "channel_open_count", "channel_private_count", "post_count"} {
			if _, ok := counts[key]; err == nil && !ok {
				err = noEffect("no %s", key)
			}
		}
		return counts, err
	})
}
