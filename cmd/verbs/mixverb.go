package verbs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	"plimsoll/rig"
)

// A mixSource is the source of a production server's rates of calls.
type mixSource struct {
	prometheus, file, tokenFile string
	at, window, out             string
}

// importTimeout ends the question to a Prometheus server; a sum of rates over hours may take it some seconds.
const importTimeout = time.Minute

// importMix writes the weights of a production server's users as a file that workload.mix can name.
func (a *app) importMix(ctx context.Context, s mixSource) error {
	if (s.prometheus == "") == (s.file == "") {
		return plan.Usagef("want one of -prometheus URL and -file ANSWER.json; see plimsoll plan -h")
	}
	window, err := time.ParseDuration(s.window)
	if err != nil || window < time.Minute || window > 7*24*time.Hour {
		return plan.Usagef("-window %q: want a time from 1m to 168h, such as 2h", s.window)
	}
	query := mattermost.CallsQuery(promDuration(window))
	var answer []byte
	from := s.file
	if s.file != "" {
		answer, err = files.ReadText(s.file, rig.MaxAnswer)
		if err != nil {
			return plan.UsageError{Err: err}
		}
	} else {
		from, answer, err = a.ask(ctx, s, query)
		if err != nil {
			return err
		}
	}
	rates, at, err := ratesOf(answer)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	weights, kept, unmapped, err := mattermost.ImportWeights(rates)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	var b bytes.Buffer
	plain.Fprintf(&b, "# Weights of users' actions, relative to create_post. Name this file in workload.mix of a plan.\n# from:  %s\n# query: %s\n# at:    %s\n# createPost: %s calls/s\n",
		comment(from), query, at.UTC().Format(time.RFC3339), strconv.FormatFloat(rates["createPost"], 'g', 4, 64))
	if len(kept) > 0 {
		plain.Fprintf(&b, "# No call stands for these; they have their default weight: %s\n", strings.Join(kept, ", "))
	}
	if len(unmapped) > 0 {
		plain.Fprintf(&b, "# Calls that stand for no action, the most frequent first: %s\n", comment(strings.Join(unmapped[:min(len(unmapped), 20)], ", ")))
	}
	byWeight := slices.SortedFunc(maps.Keys(weights), func(x, y string) int {
		if weights[x] != weights[y] {
			if weights[x] < weights[y] {
				return 1
			}
			return -1
		}
		return strings.Compare(x, y)
	})
	for _, name := range byWeight {
		plain.Fprintf(&b, "%s: %s\n", name, strconv.FormatFloat(weights[name], 'f', -1, 64))
	}
	if _, err := a.known().ParseWeights(b.Bytes()); err != nil {
		return fmt.Errorf("the imported weights are no good: %w", err) // the written file must be readable
	}
	if s.out == "" || s.out == "-" {
		_, err := a.stdout.Write(b.Bytes())
		return err
	}
	if err := writeFile(s.out, func(w io.Writer) error { _, err := w.Write(b.Bytes()); return err }); err != nil {
		return err
	}
	_, err = plain.Fprintf(a.stdout, "%s: weights of %d actions\n", s.out, len(weights))
	return err
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
func (a *app) ask(ctx context.Context, s mixSource, query string) (from string, answer []byte, err error) {
	u, err := url.Parse(s.prometheus)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return "", nil, plan.Usagef("-prometheus: want http://HOST[:PORT][/PATH] or https, without user and query; a token goes into -token-file")
	}
	from = u.Redacted()
	u = u.JoinPath("api/v1/query")
	form := url.Values{"query": {query}}
	if s.at != "" {
		t, err := time.Parse(time.RFC3339, s.at)
		if err != nil {
			return "", nil, plan.Usagef("-at %q: want a moment such as 2026-05-07T18:00:00Z", s.at)
		}
		form.Set("time", strconv.FormatFloat(float64(t.UnixMilli())/1e3, 'f', 3, 64))
	}
	ctx, cancel := context.WithTimeout(ctx, importTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), strings.NewReader(form.Encode()))
	if err != nil {
		return "", nil, plan.UsageError{Err: err}
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if s.tokenFile != "" {
		token, err := files.ReadText(s.tokenFile, rig.MaxSecret)
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
	answer, err = files.ReadUpTo(resp.Body, rig.MaxAnswer)
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", from, err)
	}
	if resp.StatusCode != http.StatusOK && !bytes.HasPrefix(bytes.TrimSpace(answer), []byte("{")) {
		return "", nil, fmt.Errorf("%s answers %s, which is not a Prometheus server's answer to a query", from, resp.Status)
	}
	return from, answer, nil
}

// ratesOf reads the answer to an instant query: calls per second by handler.
func ratesOf(answer []byte) (map[string]float64, time.Time, error) {
	var r struct {
		Status, Error string
		Data          struct {
			ResultType string
			Result     json.RawMessage
		}
	}
	if err := json.Unmarshal(answer, &r); err != nil {
		return nil, time.Time{}, fmt.Errorf("this is no answer of a Prometheus server: %w", err)
	}
	if r.Status != "success" {
		return nil, time.Time{}, fmt.Errorf("the query failed: %s", comment(clip(r.Error, 300)))
	}
	if r.Data.ResultType != "vector" {
		return nil, time.Time{}, fmt.Errorf("the answer is of type %q; want a vector, as an instant query gives it", r.Data.ResultType)
	}
	var series []struct {
		Metric map[string]string
		Value  [2]any
	}
	if err := json.Unmarshal(r.Data.Result, &series); err != nil {
		return nil, time.Time{}, fmt.Errorf("reading the vector: %w", err)
	}
	rates := map[string]float64{}
	var at time.Time
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
		return nil, at, errors.New("the answer names no handler: are there metrics of a server at this address, and at this time?")
	}
	return rates, at, nil
}
