package script

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"plimsoll/load/workload"
	"plimsoll/plan"
)

// metrics are the metrics of k6 that have no rule here, with the remedy.
var metrics = map[string]string{
	"http_reqs":                "what is offered is set, not tested: write workload: {arrival: {rate: N/s}}, or search the capacity",
	"iterations":               "what is offered is set, not tested: write workload: {arrival: {rate: N/s}}, or search the capacity",
	"vus":                      "the plan sets the users",
	"vus_max":                  "the plan sets the users",
	"data_received":            "the amount of data is not counted",
	"data_sent":                "the amount of data is not counted",
	"dropped_iterations":       "write the rule rate(dropped) < 0.1% in the plan",
	"http_req_waiting":         "use http_req_duration",
	"http_req_blocked":         "use http_req_duration",
	"http_req_connecting":      "use http_req_duration",
	"http_req_tls_handshaking": "use http_req_duration",
	"http_req_sending":         "use http_req_duration",
	"http_req_receiving":       "use http_req_duration",
	"ws_session_duration":      "a session lasts as long as the script wants; use ws_connecting",
	"ws_sessions":              "count them with check()",
	"ws_msgs_sent":             "count them with check()",
	"ws_msgs_received":         "count them with check()",
	"ws_ping":                  "use ws_connecting",
}

var (
	metricRE    = regexp.MustCompile(`^\s*([A-Za-z_][A-Za-z0-9_]*)\s*(?:\{(.*)\})?\s*$`)
	thresholdRE = regexp.MustCompile(`^\s*(avg|med|min|max|rate|count|value|p\(\s*[0-9.]+\s*\))\s*(<=|>=|===?|!=|<|>)\s*([0-9.eE+-]+)\s*$`)
)

// thresholds reads all thresholds.
func (r *reader) thresholds(path string, text json.RawMessage) {
	all, ok := r.object(path, text)
	if !ok {
		return
	}
	for _, metric := range slices.Sorted(maps.Keys(all)) {
		var list []json.RawMessage
		if json.Unmarshal(all[metric], &list) != nil {
			list = []json.RawMessage{all[metric]} // one alone
		}
		for i, one := range list {
			r.threshold(metric, one, fmt.Sprintf("%s.%s[%d]", path, metric, i))
		}
	}
}

// threshold reads one.
func (r *reader) threshold(metric string, text json.RawMessage, path string) {
	expr := ""
	if json.Unmarshal(text, &expr) != nil {
		var long struct {
			Threshold   string `json:"threshold"`
			AbortOnFail bool   `json:"abortOnFail"`
		}
		if json.Unmarshal(text, &long) != nil || long.Threshold == "" {
			r.refuse(path, "%s is not a threshold; want one such as 'p(95)<200'", cut(text))
			return
		}
		if expr = long.Threshold; long.AbortOnFail {
			r.note(path, "a broken rule ends no run; it is in the report and in the exit status")
		}
	}
	rule, err := ruleOf(metric, expr)
	if err == nil {
		var slo plan.SLO
		if slo, err = plan.ParseSLO(rule); err == nil {
			r.shape.Rules = append(r.shape.Rules, RuleAt{SLO: slo, Path: path})
			return
		}
	}
	r.refuse(path, "%v", err)
}

// ruleOf returns the rule of a threshold, as text.
func ruleOf(metric, expr string) (string, error) {
	m, t := metricRE.FindStringSubmatch(metric), thresholdRE.FindStringSubmatch(expr)
	if m == nil {
		return "", fmt.Errorf("%s is not a metric", cut([]byte(metric)))
	}
	if remedy := metrics[m[1]]; remedy != "" {
		return "", fmt.Errorf("%s has no rule here; %s", m[1], remedy)
	}
	if t == nil {
		return "", fmt.Errorf("%s is not a threshold that can be read; want one such as 'p(95)<200'", cut([]byte(expr)))
	}
	tags, err := tagsOf(m[2])
	if err != nil {
		return "", err
	}
	limit, err := strconv.ParseFloat(t[3], 64)
	if err != nil {
		return "", fmt.Errorf("%s is not a number", t[3])
	}
	stat, less := strings.ReplaceAll(t[1], " ", ""), strings.HasPrefix(t[2], "<")
	switch m[1] {
	case "http_req_duration":
		return latency(stat, cmp.Or(tags["name"], "op"), limit, less)
	case "iteration_duration":
		return latency(stat, workload.Iteration+"default", limit, less)
	case "group_duration":
		group := strings.ReplaceAll(strings.TrimPrefix(tags["group"], "::"), "::", " ")
		if group == "" {
			return "", fmt.Errorf("group_duration needs the tag group, as in group_duration{group:::NAME}")
		}
		return latency(stat, "group "+group, limit, less)
	case "ws_connecting":
		return latency(stat, "ws connect", limit, less)
	case "http_req_failed", "checks":
		if tags["name"] != "" || tags["check"] != "" || tags["group"] != "" {
			return "", fmt.Errorf("a rate is of all operations; leave out the tags of %s", m[1])
		}
		switch {
		case stat != "rate":
			return "", fmt.Errorf("%s has a rate, not %s", m[1], stat)
		case m[1] == "http_req_failed" && less:
			return fmt.Sprintf("rate(errors) < %s", percent(limit)), nil
		case m[1] == "checks" && strings.HasPrefix(t[2], ">"):
			return fmt.Sprintf("rate(%s) < %s", plan.FailedChecks, percent(1-limit)), nil
		}
		return "", fmt.Errorf("%s %s: want rate<0.01 of http_req_failed, or rate>0.99 of checks", m[1], t[2])
	}
	return "", fmt.Errorf("%s is no metric of k6 with a rule here; count with check(), or time with group()", m[1])
}

// tagsOf reads the tags of a metric, as in {name:article,expected_response:true}.
func tagsOf(text string) (map[string]string, error) {
	tags := map[string]string{}
	for part := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), ":")
		key, value = strings.TrimSpace(key), strings.Trim(strings.TrimSpace(value), `"'`)
		switch {
		case part == "" && text == "":
		case !ok:
			return nil, fmt.Errorf("%s is not a tag; want name:VALUE", cut([]byte(part)))
		case key == "scenario", key == "expected_response" && value == "true":
			// There is one scenario, and what fails is no latency.
		case key == "name", key == "group", key == "check":
			tags[key] = value
		default:
			return nil, fmt.Errorf("the tag %s has no rule here; name the request with {tags: {name: …}}, and the "+
				"rule by it: {name:…}", cut([]byte(key)))
		}
	}
	return tags, nil
}

// latency returns the rule of a statistic in milliseconds.
func latency(stat, op string, limit float64, less bool) (string, error) {
	if !less {
		return "", fmt.Errorf("a latency has an upper limit; write <")
	}
	switch {
	case stat == "avg":
		stat = "mean"
	case stat == "med":
		stat = "p50"
	case stat == "max":
	case strings.HasPrefix(stat, "p("):
		stat = "p" + strings.Trim(stat, "p()")
		if stat == "p100" {
			stat = "max"
		}
	default:
		return "", fmt.Errorf("%s is no statistic of a latency; want p(50) to p(99.9), avg, med or max", stat)
	}
	return fmt.Sprintf("%s(%s) < %sms", stat, op, strconv.FormatFloat(limit, 'f', -1, 64)), nil
}

// percent writes a fraction.
func percent(v float64) string {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v*100, 'f', 9, 64), 64)
	return strconv.FormatFloat(v, 'f', -1, 64) + "%"
}
