package report

import (
	"strings"
	"testing"

	"plimsoll/record"
)

// The Setup table says where a reset was checked with one account alone.
func TestAccountsThatNobodySawAgain(t *testing.T) {
	const want = "after a reset one account with a password was tried"
	for _, unseen := range []bool{false, true} {
		in := planned()
		for i := range in.Runs {
			in.Runs[i].Manifest.Accounts = &record.AccountsFile{
				Name:   "users.csv",
				Rows:   5,
				Digest: "sha256:12",
				Unseen: unseen,
			}
		}
		text := written(t, FullMarkdown, From(in))
		if !strings.Contains(text, "users.csv, 5 rows") || strings.Contains(text, want) != unseen {
			t.Errorf("unseen %v: the Setup says otherwise", unseen)
		}
	}
}
