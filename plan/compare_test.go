package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/plan"
)

// Arms of a server that is not ours are one server: two versions of it would be two releases in the report, and always the same.
func TestArmsOfOneServer(t *testing.T) {
	k := plan.Known{Drivers: []string{"server", "external"}}
	const src = "name: n\ntarget: {driver: %s, url: \"http://h\", version: \"1.0\"}\nworkload: {behavior: poster}\nbounded: {users: 5}\ncompare: {arms: %s}\n"
	const refused = "5:17: compare.arms: are all the one server at target.url, whatever their versions say; leave the versions out"
	for _, tt := range []struct{ name, driver, arms, want string }{
		{"alike", "external", "{base: {}, new: {}}", ""},
		{"one version", "external", `{base: {version: "2.0"}, new: {version: "2.0"}}`, ""},
		{"that of the target", "external", `{base: {}, new: {version: "1.0"}}`, ""},
		{"two versions", "external", `{base: {version: "1.0"}, new: {version: "2.0"}}`, refused},
		{"one of the arms", "external", `{base: {}, new: {version: "2.0"}}`, refused},
		{"the third", "external", `{base: {}, copy: {}, new: {version: "2.0"}}`, refused},
		{"ours", "server", `{base: {}, new: {version: "2.0"}}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := fmt.Appendf(nil, src, tt.driver, tt.arms)
			_, err := k.Parse(text)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("got\n%v\nwant\n%s", err, tt.want)
			}
			if _, err := plan.Parse(text); err != nil {
				t.Errorf("a stored plan cannot be read: %v", err)
			}
		})
	}
}
