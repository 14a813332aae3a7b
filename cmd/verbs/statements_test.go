package verbs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/internal/program"
	"plimsoll/judge/attribution/statements"
	"plimsoll/load/workload"
	"plimsoll/record"
	"plimsoll/record/store/storetest"
)

// indexless starts refchat on posts that others have written, and drops indexes before.
const indexless = `#!/bin/sh
psql -q "$REFCHAT_DSN" >/dev/null 2>&1 <<'END'
INSERT INTO posts (id, createat, updateat, editat, deleteat, userid, channelid, rootid, message)
	SELECT md5(i::text)::varchar(26), i, i, 0, 0, '', md5((i % 500)::text)::varchar(26), '', 'x'
	FROM generate_series(1, 20000) i ON CONFLICT DO NOTHING;
DROPS
ANALYZE posts;
END
exec PROGRAM "$@"
`

// lostIndexPlan is as duetPlan, with blocks enough for findings.
const lostIndexPlan = `
name: lost-index
seed: 7
target: {driver: refchat, args: ["-hash=bcrypt:4"]}
database: {engine: [postgresql]}
workload: {behavior: mattermost, pace: 0.004}
bounded: {users: 12, ramp: 500ms, settle: 500ms, measure: 7s}
compare: {arms: {base: {binary: WHOLE}, new: {binary: LOST}}, mode: duet, slice: 200ms, blocks: 4, retry: 0s}
` + openGates

// TestALostIndexIsNamed compares two databases in turns, of which one lacks the indexes of a
// channel's posts: the statement that needed one comes first, with its plans in both. No run has a
// statement of the program's own probes, or a secret.
func TestALostIndexIsNamed(t *testing.T) {
	t.Parallel()
	path, err := program.Build()
	failure.None(t, err)
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
	st := storetest.At(t, filepath.Join(root, "store"))
	id, err := st.Last("comparisons")
	failure.None(t, err)
	c, err := st.Comparison(id)
	failure.None(t, err)
	blocks := make([]statements.PairedCensus, c.Blocks)
	for _, cell := range c.Runs {
		r, err := st.Run(cell.Run)
		failure.None(t, err)
		if r.Manifest.Pilot {
			continue
		}
		if r.Manifest.Files[record.StatementsFile] == "" {
			t.Errorf("run %s has no digest of its statements", r.Manifest.ID)
		}
		side := &blocks[cell.Block-1].Base
		if cell.Arm == "new" {
			side = &blocks[cell.Block-1].New
		}
		*side = issued(t, r)
	}
	d := statements.Attribute(blocks)
	if len(d.Findings) == 0 {
		t.Fatalf("nothing is found: %+v\n%s", d, output)
	}
	f := d.Findings[0]
	if !strings.Contains(f.Text, "FROM posts") || !strings.Contains(f.Text, "p.channelid = ?") ||
		f.Plan == nil || f.Cost.Value <= 0 {
		t.Fatalf("the first of %d is %+v", len(d.Findings), f)
	}
	t.Logf("%s\n%s → %s", f.Text, f.Plan.From, f.Plan.To)
	if !strings.Contains(f.Plan.From, "idx_posts_channel_id_") ||
		strings.Contains(f.Plan.New, "idx_posts_channel_id_") {
		t.Errorf("its plan was %s and is %s", f.Plan.Base, f.Plan.New)
	}
}

// issued reads the statements of a run.
func issued(t *testing.T, r *record.Run) statements.Issued {
	t.Helper()
	of, err := r.Statements()
	if err != nil || of == nil {
		t.Fatalf("run %s: %v, %v", r.Manifest.ID, of, err)
	}
	for _, s := range of.Statements {
		if strings.Contains(s.Text, "pg_stat") || strings.Contains(s.Text, "'") {
			t.Errorf("run %s has %q", r.Manifest.ID, s.Text)
		}
	}
	ph, _ := r.Manifest.Phase("measure")
	if length := (ph.To - ph.From).Seconds(); of.Seconds < 0.5*length || of.Seconds > 2*length {
		t.Errorf("run %s counted %v s of %v s", r.Manifest.ID, of.Seconds, length)
	}
	merged, err := r.Merged(ph.From, ph.To)
	failure.None(t, err)
	out := statements.Issued{Census: *of}
	for name, w := range merged {
		if workload.Steady(name) {
			out.Operations += float64(w.Count())
		}
	}
	return out
}
