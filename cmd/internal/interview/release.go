package interview

import "plimsoll/plan"

// Mattermost starts the directory of a release of that server.
var Mattermost = Release{Driver: plan.Process, Start: `  command: [bin/mattermost, server]
  ready: /api/v4/system/ping
  stop_signal: TERM
  env:   # ${...} is filled in for each instance
    all:
      MM_SERVICESETTINGS_LISTENADDRESS: ${HOSTPORT}
      MM_SERVICESETTINGS_SITEURL: ${URL}
      MM_SERVICESETTINGS_ENABLEBOTACCOUNTCREATION: "true"
      MM_TEAMSETTINGS_MAXUSERSPERTEAM: "100000"
      MM_RATELIMITSETTINGS_ENABLE: "false"
      MM_PLUGINSETTINGS_ENABLE: "false"
      MM_FILESETTINGS_DIRECTORY: ${DIR}/
      MM_LOGSETTINGS_FILELOCATION: ${DIR}
      MM_LOGSETTINGS_CONSOLELEVEL: ERROR
`, ByEngine: map[string]string{plan.PostgreSQL: `    postgresql:
      MM_SQLSETTINGS_DRIVERNAME: postgres
      MM_SQLSETTINGS_DATASOURCE: ${DSN}
`, plan.MySQL: `    mysql:
      MM_SQLSETTINGS_DRIVERNAME: mysql
      MM_SQLSETTINGS_DATASOURCE: ${DSN_BARE}?charset=utf8mb4,utf8&writeTimeout=30s
`}}
