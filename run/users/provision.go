package users

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"plimsoll/load/engine"
	"plimsoll/load/workload"
)

// Provisioning has five minutes, and one second for each user beyond: a server whose passwords are
// slow to hash needs a twentieth of that.
const (
	provisionBase = 5 * time.Minute
	provisionUser = time.Second
)

// Provision brings a target into the state that the behaviors of a mix need for some users, within
// a time that depends on how many they are. The users have the accounts of a file's first rows;
// without a file, the behaviors make accounts. It may be repeated, and goes on where it was
// interrupted.
func Provision(ctx context.Context, env workload.Env, mix []engine.Part, users int,
	file *UsersFile) error {
	limit := provisionBase + time.Duration(users)*provisionUser
	ctx, cancel := context.WithTimeoutCause(ctx, limit,
		fmt.Errorf("not done within %v (%v, and %v for each of %d users); the target keeps the "+
			"objects made so far, so the next run continues from there",
			limit, provisionBase, provisionUser, users))
	defer cancel()
	var shares []float64
	for _, part := range mix {
		shares = append(shares, part.Share)
	}
	var dealt []*workload.Accounts
	if file != nil {
		dealt = file.Rows.Deal(users, shares...)
	}
	for k, part := range mix {
		n := int(math.Ceil(part.Share*float64(users))) + 1
		if file != nil {
			env.Accounts, n = dealt[k], len(dealt[k].Rows)
		}
		err := part.Behavior.Provision(ctx, env, n)
		if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
			err = fmt.Errorf("%w: %w", err, cause)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
