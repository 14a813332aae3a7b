package verbs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/judge/attribution/statements"
	"plimsoll/record"
)

// indexless starts refchat on posts that others have written, and drops indexes before.
const indexless = `#!/bin/sh
psql -q "$REFCHAT_DSN" >/dev/null 2>&1 <<'END'
INSERT INTO posts (id, createat, updateat, editat, deleteat, userid, channelid, rootid, message)
	SELECT md5(i::text)::varchar(26), i, i, 0, 0, '', md5((i % 125)::text)::varchar(26), '', 'x'
	FROM generate_series(1, 5000) i ON CONFLICT DO NOTHING;
DROPS
ANALYZE posts;
END
exec PROGRAM "$@"
`

// lostIndexPlan is as duetPlan, with as many blocks as statements are compared over. A block whose users
// did not come in time, on a host that is busy, runs again.
const lostIndexPlan = `
name: lost-index
seed: 7
target: {driver: refchat, args: ["-hash=bcrypt:4"]}
database: {engine: [postgresql]}
workload: {behavior: mattermost, pace: 0.004}
bounded: {users: 12, ramp: 200ms, settle: 1s, measure: 1500ms}
compare: {arms: {base: {binary: WHOLE}, new: {binary: LOST}}, mode: duet, slice: 200ms, blocks: 4, retry: 5m}
` + openGates

// TestALostIndexIsNamed compares two databases in turns, of which one lacks the indexes of a
// channel's posts: the report has the plans of a statement that needed one. Whether its time changed
// for certain depends on what else the host does. All runs have their statements, and none has one
// of the program's own probes, or a secret.
func TestALostIndexIsNamed(t *testing.T) {
	t.Parallel()
	path := builtProgram(t)
	dir := t.TempDir()
	start := func(name, drops string) string {
		file := filepath.Join(dir, name)
		writeText(t, file, strings.NewReplacer("PROGRAM", path, "DROPS", drops).Replace(indexless))
		failure.None(t, os.Chmod(file, 0o755))
		return file
	}
	const drops = "DROP INDEX IF EXISTS idx_posts_channel_id_delete_at_create_at, " +
		"idx_posts_channel_id_update_at;"
	plan := strings.NewReplacer("WHOLE", start("whole", ""), "LOST", start("lost", drops))
	cmd, root, output := startPlan(t, plan.Replace(lostIndexPlan), "compare")
	wait(t, cmd, 9*time.Minute, output)
	st := storeOf(t, root)
	id, err := st.Last("comparisons")
	failure.None(t, err)
	c, err := st.Comparison(id)
	failure.None(t, err)
	for _, cell := range c.Runs {
		r, err := st.Run(cell.Run)
		failure.None(t, err)
		if !r.Manifest.Pilot {
			checkStatements(t, r)
		}
	}
	comparison := filepath.Join(root, "store", "comparisons", id)
	var d struct{ Statements []statements.Difference }
	failure.None(t, json.Unmarshal([]byte(readText(t, filepath.Join(comparison, "report.json"))), &d))
	if len(d.Statements) != 1 {
		t.Fatalf("statements of %d arms\n%s", len(d.Statements), output)
	}
	all := slices.Concat(d.Statements[0].Findings, d.Statements[0].Plans)
	const index = "idx_posts_channel_id_"
	if !slices.ContainsFunc(all, func(f statements.ChangedStatement) bool {
		return strings.Contains(f.Text, "FROM posts") && strings.Contains(f.Text, "p.channelid = ?") &&
			f.Plan != nil && strings.Contains(f.Plan.From, index) && f.Plan.To != "" &&
			!strings.Contains(f.Plan.New, index)
	}) {
		t.Errorf("no plan lost its index: %+v\n%s", d.Statements[0], output)
	}
	if !strings.Contains(readText(t, filepath.Join(comparison, "report-full.md")), "Plans that differ") {
		t.Error("the report has no plans")
	}
}

// checkStatements checks the statements of a run.
func checkStatements(t *testing.T, r *record.Run) {
	t.Helper()
	if r.Manifest.Files[record.StatementsFile] == "" {
		t.Errorf("run %s has no digest of its statements", r.Manifest.ID)
	}
	of, err := r.Statements()
	if err != nil || of == nil || len(of.Statements) == 0 {
		t.Fatalf("run %s: %+v, %v", r.Manifest.ID, of, err)
	}
	for _, s := range of.Statements {
		if strings.Contains(s.Text, "pg_stat") || strings.Contains(s.Text, "'") {
			t.Errorf("run %s has %q", r.Manifest.ID, s.Text)
		}
	}
	ph, _ := r.Manifest.Phase("measure")
	if length := (ph.To - ph.From).Seconds(); of.Seconds < 0.5*length {
		t.Errorf("run %s counted %v s of %v s", r.Manifest.ID, of.Seconds, length)
	}
}
