// Package grafana holds the dashboards for Grafana as bytes, for who draws the same panels without it: a run's frozen
// pages are these dashboards, so that both show the same, by the same queries, under the same titles.
//
// It does not know what a panel means, nor how it is drawn.
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
