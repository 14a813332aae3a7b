package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// commandsFile is the file of a run with the output of the plan's commands before it.
const commandsFile = "commands.log"

// writeCommands puts the output of the commands beside the records of a run.
func writeCommands(_ context.Context, r *run) error {
	if len(r.commands) == 0 {
		return nil
	}
	if err := os.WriteFile(filepath.Join(r.w.Dir(), commandsFile), r.commands, 0o600); err != nil {
		return fmt.Errorf("writing the output of the commands: %w", err)
	}
	return nil
}
