// Package grafana holds the dashboards for Grafana as bytes, for callers that draw the same panels
// without it: the frozen pages of a run show the same panels, with the same queries and titles.
//
// It does not know the meaning of a panel, nor how it is drawn.
package grafana

import _ "embed" // the dashboards

// System shows hosts, processes, the target's Go runtime and the database of a run: Grafana's JSON.
//
//go:embed system-metrics.json
var System []byte

// Coordinator shows the rules, the users, and how the generator fared.
//
//go:embed coordinator.json
var Coordinator []byte
