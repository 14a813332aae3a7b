// Package mixfile writes the weights of a production server's users, from the rates of calls that a
// Prometheus server or an access log has of it, as a file that workload.mix of a plan can name.
package mixfile

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/dialect/mattermost"
	"plimsoll/internal/files"
	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/run/deploy"
)

// A Source gives the rates of calls of a production server: the address of a Prometheus server,
// with the file of a token and the instant if it has one, the file of an answer, or an access log.
// Window is the time over which calls are counted; of a log, all of it is.
type Source struct {
	Prometheus, File, TokenFile, AccessLog string
	At, Window                             string
}

// importTimeout ends the question to a Prometheus server; a sum of rates over hours may take it
// some seconds.
const importTimeout = time.Minute

// Import returns the text of the file, which known can read, and how many actions it weighs.
func Import(ctx context.Context, s Source, known plan.Known) (text []byte, actions int, err error) {
	rates, from, about, err := s.rates(ctx)
	if err != nil {
		return nil, 0, err
	}
	weights, kept, unmapped, err := mattermost.ImportWeights(rates)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", from, err)
	}
	var b bytes.Buffer
	plain.Fprintf(
		&b,
		"# Weights of users' actions, relative to create_post. Name this file in workload.mix of a plan.\n# from:  %s\n",
		comment(from),
	)
	calls := strconv.FormatFloat(rates["createPost"], 'g', 4, 64)
	for _, line := range append(about, "createPost: "+calls+" calls/s") {
		plain.Fprintf(&b, "# %s\n", line)
	}
	if len(kept) > 0 {
		plain.Fprintf(
			&b,
			"# No call stands for these; they have their default weight: %s\n",
			strings.Join(kept, ", "),
		)
	}
	if len(unmapped) > 0 {
		total := 0.0
		for _, x := range rates {
			total += x
		}
		for i, call := range unmapped {
			unmapped[i] = fmt.Sprintf("%s (%.2g %%)", call, 100*rates[call]/total)
		}
		plain.Fprintf(
			&b,
			"# Calls that stand for no action, with their share of all calls: %s\n",
			comment(strings.Join(unmapped[:min(len(unmapped), 20)], ", ")),
		)
	}
	byWeight := slices.SortedFunc(maps.Keys(weights), func(x, y string) int {
		return cmp.Or(cmp.Compare(weights[y], weights[x]), cmp.Compare(x, y))
	})
	for _, name := range byWeight {
		plain.Fprintf(&b, "%s: %s\n", name, strconv.FormatFloat(weights[name], 'f', -1, 64))
	}
	if _, err := known.ParseWeights(b.Bytes()); err != nil {
		// the written file must be readable
		return nil, 0, fmt.Errorf("the imported weights are no good: %w", err)
	}
	return b.Bytes(), len(weights), nil
}

// rates returns the calls per second by handler, where they are from, and lines about that.
func (s Source) rates(ctx context.Context) (
	rates map[string]float64, from string, about []string, err error,
) {
	from = cmp.Or(s.File, s.AccessLog, s.Prometheus)
	if from == "" || from != s.File+s.AccessLog+s.Prometheus {
		return nil, "", nil, plan.Usagef(
			"want one of -prometheus URL, -file ANSWER.json and -access-log FILE; see plimsoll plan -h",
		)
	}
	if s.AccessLog != "" {
		rates, about, err = ofLog(ctx, s.AccessLog)
		return rates, from, about, err
	}
	window, err := time.ParseDuration(s.Window)
	if err != nil || window < time.Minute || window > 7*24*time.Hour {
		return nil, "", nil, plan.Usagef("-window %q: want a time from 1m to 168h, such as 2h", s.Window)
	}
	query := mattermost.CallsQuery(promDuration(window))
	var answer []byte
	if s.File != "" {
		if answer, err = files.ReadText(s.File, files.MaxAnswer); err != nil {
			return nil, "", nil, plan.UsageError{Err: err}
		}
	} else if from, answer, err = ask(ctx, s, query); err != nil {
		return nil, "", nil, err
	}
	rates, at, err := ratesOf(answer)
	if err != nil {
		return nil, "", nil, fmt.Errorf("%s: %w", from, err)
	}
	return rates, from, []string{"query: " + query, "at:    " + at.UTC().Format(time.RFC3339)}, nil
}

// comment makes a text that comes from elsewhere fit for a comment.
func comment(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// promDuration writes a time as PromQL reads it, in whole seconds.
func promDuration(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

// ask sends a Prometheus server one instant query, and returns a name for it and its answer.
func ask(ctx context.Context, s Source, query string) (from string, answer []byte, err error) {
	u, err := url.Parse(s.Prometheus)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		u.RawQuery != "" {
		return "", nil, plan.Usagef(
			"-prometheus: want http://HOST[:PORT][/PATH] or https, without user and query; a token goes into -token-file",
		)
	}
	from = u.Redacted()
	u = u.JoinPath("api/v1/query")
	form := url.Values{"query": {query}}
	if s.At != "" {
		t, err := time.Parse(time.RFC3339, s.At)
		if err != nil {
			return "", nil, plan.Usagef("-at %q: want a moment such as 2026-05-07T18:00:00Z", s.At)
		}
		form.Set("time", strconv.FormatFloat(float64(t.UnixMilli())/1e3, 'f', 3, 64))
	}
	ctx, cancel := context.WithTimeout(ctx, importTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(
		ctx,
		http.MethodPost,
		u.String(),
		strings.NewReader(form.Encode()),
	)
	if err != nil {
		return "", nil, plan.UsageError{Err: err}
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if s.TokenFile != "" {
		token, err := files.ReadText(s.TokenFile, deploy.MaxSecret)
		if err != nil {
			return "", nil, plan.UsageError{Err: err}
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		return errors.New("it redirects; name the address that it redirects to")
	}}
	resp, err := client.Do(req)
	if err != nil {
		return "", nil, err
	}
	defer resp.Body.Close()
	answer, err = files.ReadUpTo(resp.Body, files.MaxAnswer)
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", from, err)
	}
	if resp.StatusCode != http.StatusOK && !bytes.HasPrefix(bytes.TrimSpace(answer), []byte("{")) {
		return "", nil, fmt.Errorf(
			"%s answers %s, which is not a Prometheus server's answer to a query",
			from,
			resp.Status,
		)
	}
	return from, answer, nil
}

// ratesOf reads the answer to an instant query: calls per second by handler.
func ratesOf(answer []byte) (rates map[string]float64, at time.Time, err error) {
	var r struct {
		Status, Error string
		Data          struct {
			ResultType string
			Result     json.RawMessage
		}
	}
	if err := json.Unmarshal(answer, &r); err != nil {
		return nil, at, fmt.Errorf("this is no answer of a Prometheus server: %w", err)
	}
	if r.Status != "success" {
		return nil, at, fmt.Errorf("the query failed: %s", comment(plain.Cut(r.Error, 300)))
	}
	if r.Data.ResultType != "vector" {
		return nil, at, fmt.Errorf(
			"the answer is of type %q; want a vector, as an instant query gives it",
			r.Data.ResultType,
		)
	}
	var series []struct {
		Metric map[string]string
		Value  [2]any
	}
	if err := json.Unmarshal(r.Data.Result, &series); err != nil {
		return nil, at, fmt.Errorf("reading the vector: %w", err)
	}
	rates = map[string]float64{}
	for i, s := range series {
		seconds, ok1 := s.Value[0].(float64)
		text, ok2 := s.Value[1].(string)
		x, err := strconv.ParseFloat(text, 64)
		if !ok1 || !ok2 || err != nil {
			return nil, at, fmt.Errorf("value %d of the vector is not a time and a number", i+1)
		}
		at = time.UnixMilli(int64(math.Round(seconds * 1e3)))
		if h := s.Metric["handler"]; h != "" {
			rates[h] += x // an answer to another query may hold a handler more than once
		}
	}
	if len(rates) == 0 {
		return nil, at, errors.New(
			"the answer names no handler: are there metrics of a server at this address, and at this time?",
		)
	}
	return rates, at, nil
}
