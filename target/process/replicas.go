package process

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/target"
)

// replicaRole is the role of the copies of the database.
const replicaRole = "replica"

// replicaName names a copy in descriptions.
func replicaName(i int) string { return fmt.Sprintf("%s-%d", replicaRole, i) }

// startReplicas starts the copies of the database, which has just been started.
func (d *deployment) startReplicas(ctx context.Context) error {
	for i := range d.conf.Replicas {
		name := replicaName(i)
		r, err := d.conf.StartReplica(ctx, d.db, filepath.Join(d.spec.Dir, name), d.spec.CPUs, i)
		if err != nil {
			return fmt.Errorf("starting the %s: %w", name, err)
		}
		swap(d, &d.replicas, append(d.replicas, r))
	}
	return nil
}

// followDatabase lets the copies follow the database, which was restored or restarted, and waits
// until they have all of it. One after the other: each may need the database for itself.
func (d *deployment) followDatabase(ctx context.Context) error {
	for i, r := range d.replicas {
		if err := r.Follow(ctx); err != nil {
			return fmt.Errorf("%s: %w", replicaName(i), err)
		}
	}
	return nil
}

// stopReplicas stops them side by side. followDatabase starts them again.
func (d *deployment) stopReplicas(ctx context.Context) error {
	return sideBySide(len(d.replicas), func(i int) error {
		if err := d.replicas[i].Stop(ctx); err != nil {
			return fmt.Errorf("stopping the %s: %w", replicaName(i), err)
		}
		return nil
	})
}

// ReplicaDSNs returns the URLs of the database's copies, passwords included; they change at Reset.
func (d *deployment) ReplicaDSNs() (out []string) {
	for _, r := range d.running().replicas {
		out = append(out, r.DSN(d.conf.Database))
	}
	return out
}

// bareDSNs returns DSNs without their schemes, with a space between.
func bareDSNs(dsns []string) string {
	out := slices.Clone(dsns)
	for i, dsn := range out {
		_, out[i], _ = strings.Cut(dsn, "://")
	}
	return strings.Join(out, " ")
}

var _ described = target.Replica(nil)
