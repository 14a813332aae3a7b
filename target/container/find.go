package container

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// Find returns the first process of a container that podman or docker runs on this host.
func Find(ctx context.Context, name string) (pid int, err error) {
	ctx, cancel := context.WithTimeout(ctx, podmanPatience)
	defer cancel()
	err = fmt.Errorf(
		"container %s: neither podman nor docker is installed here; name its process (kind pid)",
		name,
	)
	for _, engine := range []string{"podman", "docker"} {
		path, missing := exec.LookPath(engine)
		if missing != nil {
			continue
		}
		out, failed := exec.CommandContext(ctx, path, "inspect", "--format", "{{.State.Pid}}", "--", name).
			Output()
		if pid, bad := strconv.Atoi(strings.TrimSpace(string(out))); failed == nil && bad == nil &&
			pid > 0 {
			return pid, nil
		}
		err = fmt.Errorf(
			"container %s does not run here (%s inspect); want a name that %s ps lists, as the same user",
			name,
			engine,
			engine,
		)
	}
	return 0, err
}
