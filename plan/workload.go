package plan

import (
	"maps"
	"math"
	"time"
)

// Login modes of a [Workload].
const (
	// LoginWarm logs users in before the ramp, outside of the measured phase.
	LoginWarm = "warm"
	// LoginCold makes the login a part of the load.
	LoginCold = "cold"
)

// A Workload sets the behavior of the simulated users and their pace.
type Workload struct {
	// Behavior names the behavior of most users. The caller knows the existing names; see [Known].
	Behavior string             `yaml:"behavior"`
	Share    float64            `yaml:"share"`
	With     map[string]float64 `yaml:"with"`
	Pace     float64            `yaml:"pace"`
	// Login is [LoginWarm] (default) or [LoginCold].
	Login string `yaml:"login"`
	// UsersFile is the path of a file of accounts that the users have: user i has row i. Empty
	// means that the behaviors make accounts.
	UsersFile string `yaml:"users_file"`
	// UsersDigest is "sha256:" and the hexadecimal SHA-256 of that file, so that the plan's digest
	// is of its content; empty until the file was read. A file with another one is refused.
	UsersDigest string `yaml:"users_digest"`
	// UsersAt is the path of the file for this process; empty if UsersFile is. The plan's text
	// leaves it out.
	UsersAt string `yaml:"-" json:"-"`
	// Script is the path of a script that users of the behavior [Script] follow; empty if there is
	// none. ScriptDigest is the digest of what it and its modules were bundled to, as UsersDigest is
	// of the accounts, and ScriptAt its path for this process.
	Script       string `yaml:"script" json:",omitempty"`
	ScriptDigest string `yaml:"script_digest" json:",omitempty"`
	ScriptAt     string `yaml:"-" json:"-"`
	// Bundle is what the script was bundled to, for the users of this program; nil until it was
	// read. The plan's text has its digest alone.
	Bundle []byte `yaml:"-" json:"-"`
	// Arrival is an open model in addition to the users: actions of Behavior that come by a
	// schedule. nil if there is none.
	Arrival *Arrival `yaml:"arrival"`
	// ActionMix names where the weights of the users' actions come from: [MixDefault], [MixCustom],
	// a name known to the caller (see [Known]), or the path of a file; see [Workload.MixFile].
	ActionMix string             `yaml:"mix"`
	Weights   map[string]float64 `yaml:"weights"`
	Params    map[string]string  `yaml:"params"`
}

var shares = mapping(
	"a mapping such as {reader: 10%}",
	share,
	"Share of users that follow this behavior.",
).
	called("a behavior")

var workloadKeys = section{
	{"behavior", label, `What most users do. Required without a script.`},
	{"share", share, `Share of users that follow behavior. Default: what with leaves.`},
	{"with", shares,
		`Shares of users that follow other behaviors. With share they add up to 100%.`},
	{"pace", number.from(0.001, 100),
		`Multiplies every wait of the users and every time constant of the search but its budget; 0.1
		is ten times as fast. Default 1; 0.03 in a plan without a search whose users and measure are
		auto.`},
	{"login", oneOf("a way to log in", "want", LoginWarm, LoginCold).or(LoginWarm),
		`warm: users log in before the ramp, unmeasured. cold: the login is a part of the load.`},
	{"users_file", usersFile,
		`File of accounts that the users have, instead of accounts that are made: CSV with the
		columns login, password and token in a header; user i has row i. A path counts from the
		directory of the plan.`},
	{"users_digest", sha256Digest,
		`SHA-256 of the file of accounts, as sha256:HEX. plimsoll writes it into the plans of runs; a
		file with another one is refused.`},
	{"script", scriptFile,
		`File of a script, JavaScript or TypeScript, that users of the behavior script follow; alone
		it is the behavior of all. A path counts from the directory of the plan.`},
	{"script_digest", sha256Digest,
		`SHA-256 of the script with all that it imports, as sha256:HEX. plimsoll writes it into the
		plans of runs; a script with another one is refused.`},
	{"arrival", arrivalKeys.short("rate"),
		`An open model beside the users: actions of behavior that come by a schedule, however fast
		the target is.`},
	{"mix", text.or(MixDefault),
		`Where the weights of the users' actions come from: default, custom (weights alone), another
		known name, or the path of a file.`},
	{"weights", weights,
		`Weights of single actions instead of those of the mix. Only their ratios count.`},
	{"params", params("The value of the setting."),
		`Settings of the behaviors. Secrets only as ${ENV:NAME} or ${FILE:PATH}.`},
}

// Wait returns the wait d as this workload waits it: d times Pace, rounded to the nanosecond. A
// zero Pace counts as 1.
func (w Workload) Wait(d time.Duration) time.Duration {
	if w.Pace == 0 || w.Pace == 1 {
		return d
	}
	return time.Duration(float64(d) * w.Pace)
}

// Mix returns the fraction of users of every behavior, Behavior among them.
func (w Workload) Mix() map[string]float64 {
	mix := map[string]float64{w.Behavior: w.Share}
	maps.Copy(mix, w.With)
	return mix
}

var weights = mapping("a mapping such as {reader: 10%}", number.from(0, 1_000_000),
	"The weight of this action; 0 leaves it out.").called("an action")

func (d *decoder) checkWorkload(w Workload, k Known) {
	d.known("workload.behavior", "behavior", w.Behavior, k.Behaviors)
	sum := w.Share
	for name, share := range w.With {
		path := "workload.with." + name
		d.known(path, "behavior", name, k.Behaviors)
		if name == w.Behavior {
			d.at(path, "is workload.behavior itself; add its share to workload.share")
		}
		sum += share
	}
	switch {
	case !d.good("workload.share", "workload.with"):
	case !d.given("workload.share") && w.Share < 1e-6:
		d.at("workload.with", "leaves nothing for workload.behavior; want less than 100%% in total")
	case math.Abs(sum-1) > 1e-9:
		d.at("workload.share", "share and with add up to %s; want 100%%",
			formatPercent(math.Round(sum*1e9)/1e9))
	}
	d.checkMix(w, k)
	d.checkUsersFile(w)
	d.checkScript(w, k)
}
