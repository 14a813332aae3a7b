// Package mattermost knows what a release directory of Mattermost needs to be a target: which
// program is started, and with which settings on either database engine. It starts nothing, and
// reads no more than the names of files.
package mattermost

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"plimsoll/plan"
)

// Files is the directory below the state directory in which the server keeps uploads.
const Files = "data"

// programs are the names of a release's program, newest first; the second was in use before 5.0.
var programs = []string{"mattermost", "platform"}

// Program returns the server's program in a release directory, and its arguments. The error names
// the place that was looked at.
func Program(dir string) (path string, args []string, err error) {
	for _, name := range programs {
		path = filepath.Join(dir, "bin", name)
		switch fi, err := os.Stat(path); {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return "", nil, fmt.Errorf("looking for the server of a release: %w", err)
		case fi.IsDir() || fi.Mode()&0o111 == 0:
			return "", nil, fmt.Errorf("%s is no program; want an executable file", path)
		}
		return path, []string{"server"}, nil
	}
	return "", nil, fmt.Errorf(
		"%s is no release directory of Mattermost: it has no bin/%s",
		dir,
		programs[0],
	)
}

// settings are those of a server under test on any engine. Its files are those of the deployment,
// so that two servers of one release do not meet and the release stays as it is. Nothing is sent or
// fetched elsewhere: a run would depend on it. The configuration begins with the release's
// defaults.
var settings = map[string]string{
	"MM_CONFIG":                                   "${DIR}/config.json",
	"MM_SERVICESETTINGS_LISTENADDRESS":            "${HOSTPORT}",
	"MM_SERVICESETTINGS_SITEURL":                  "${USERS_URL}",
	"MM_SERVICESETTINGS_ENABLEBOTACCOUNTCREATION": "true",
	"MM_SERVICESETTINGS_ENABLESECURITYFIXALERT":   "false",
	"MM_SERVICESETTINGS_ENABLELINKPREVIEWS":       "false",
	"MM_TEAMSETTINGS_MAXUSERSPERTEAM":             "100000",
	"MM_RATELIMITSETTINGS_ENABLE":                 "false",
	"MM_METRICSSETTINGS_ENABLE":                   "true",
	"MM_METRICSSETTINGS_LISTENADDRESS":            "${HOST}:${PORT1}",
	"MM_LOGSETTINGS_CONSOLELEVEL":                 "ERROR",
	"MM_LOGSETTINGS_FILELOCATION":                 "${DIR}",
	"MM_LOGSETTINGS_ENABLEDIAGNOSTICS":            "false",
	"MM_NOTIFICATIONLOGSETTINGS_FILELOCATION":     "${DIR}",
	"MM_FILESETTINGS_DIRECTORY":                   "${DIR}/" + Files + "/",
	"MM_PLUGINSETTINGS_DIRECTORY":                 "${DIR}/plugins",
	"MM_PLUGINSETTINGS_CLIENTDIRECTORY":           "${DIR}/client-plugins",
	"MM_PLUGINSETTINGS_ENABLEREMOTEMARKETPLACE":   "false",
	"MM_EMAILSETTINGS_SENDEMAILNOTIFICATIONS":     "false",
	"MM_EMAILSETTINGS_SENDPUSHNOTIFICATIONS":      "false",
	"MM_ANNOUNCEMENTSETTINGS_ADMINNOTICESENABLED": "false",
	"MM_ANNOUNCEMENTSETTINGS_USERNOTICESENABLED":  "false",
}

// databases are the settings of each engine. Mattermost has names of its own for them, and takes
// the address of MySQL without a scheme.
var databases = map[string]map[string]string{
	plan.PostgreSQL: {
		"MM_SQLSETTINGS_DRIVERNAME": "postgres",
		"MM_SQLSETTINGS_DATASOURCE": "${DSN}",
	},
	plan.MySQL: {
		"MM_SQLSETTINGS_DRIVERNAME": "mysql",
		"MM_SQLSETTINGS_DATASOURCE": "${DSN_BARE}?charset=utf8mb4,utf8&writeTimeout=30s",
	},
}

// Settings returns the environment of a server on an engine, a map of the caller's. The values hold
// variables that the driver process fills in.
func Settings(engine string) map[string]string {
	all := maps.Clone(settings)
	maps.Copy(all, databases[engine])
	return all
}
