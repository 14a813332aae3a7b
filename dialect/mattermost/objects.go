package mattermost

import (
	"context"
	"fmt"

	"plimsoll/dialect/mattermost/api"
	"plimsoll/load/workload"
)

// release returns the names that the server at env.URL gives its version: number, build, and
// commit.
func release(ctx context.Context, env workload.Env) ([]string, error) {
	values, err := asked(newSetup(ctx, &env, settings{}), (*api.Client).ClientConfig)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, key := range []string{"Version", "BuildNumber", "BuildHash"} {
		if v := values[key]; v != "" {
			names = append(names, v)
		}
	}
	return names, nil
}

// objects counts users without bots, channels without direct ones, and posts with the deleted ones,
// as the server's own statistics do. On a server without accounts it creates the administrator.
func objects(ctx context.Context, env workload.Env) (map[string]int64, error) {
	s, err := administered(ctx, &env)
	if err != nil {
		return nil, err
	}
	counts, err := asked(s, (*api.Client).Analytics)
	if err != nil {
		return nil, err
	}
	for name, n := range counts {
		if n < 0 && (name == "post_count" || name == "unique_user_count" ||
			name == "channel_open_count" || name == "channel_private_count") {
			return nil, fmt.Errorf(
				"the server does not count (%s is %d); raise its setting AnalyticsSettings.MaxUsersForStatistics",
				name,
				n,
			)
		}
	}
	return map[string]int64{
		"users": counts["unique_user_count"], "posts": counts["post_count"],
		"channels": counts["channel_open_count"] + counts["channel_private_count"],
	}, nil
}
