package query

import (
	"encoding/json"
	"fmt"
	"strings"
)

// mostSteps bounds the steps of a plan that are kept.
const mostSteps = 200

// String returns the step alone: "Index Scan using idx_posts_channel on posts".
func (n *PlanStep) String() string {
	text := n.Kind
	if n.Index != "" {
		text += " using " + n.Index
	}
	if n.Relation != "" {
		text += " on " + n.Relation
	}
	return text
}

// Lines returns the plan, a step on a line, indented by depth.
func (n *PlanStep) Lines() []string {
	out := []string{n.String()}
	for i := range n.Children {
		for _, line := range n.Children[i].Lines() {
			out = append(out, "  "+line)
		}
	}
	return out
}

// Steps returns the steps without their depth, in the order of [PlanStep.Lines].
func (n *PlanStep) Steps() (out []string) {
	for _, line := range n.Lines() {
		out = append(out, strings.TrimSpace(line))
	}
	return out
}

// explained is a step as PostgreSQL's EXPLAIN (FORMAT JSON) writes it.
type explained struct {
	Kind      string      `json:"Node Type"`
	Strategy  string      `json:"Strategy"`
	Operation string      `json:"Operation"`
	Direction string      `json:"Scan Direction"`
	Relation  string      `json:"Relation Name"`
	Index     string      `json:"Index Name"`
	Plans     []explained `json:"Plans"`
}

// ReadPlan reads an answer of PostgreSQL to EXPLAIN (FORMAT JSON). Steps beyond the 200th are left
// out.
func ReadPlan(answer []byte) (*PlanStep, error) {
	var plans []struct{ Plan explained }
	if err := json.Unmarshal(answer, &plans); err != nil {
		return nil, fmt.Errorf("reading a plan: %w", err)
	}
	if len(plans) != 1 || plans[0].Plan.Kind == "" {
		return nil, fmt.Errorf("reading a plan: %d plans, want 1", len(plans))
	}
	left := mostSteps
	n := plans[0].Plan.node(&left)
	return &n, nil
}

func (e explained) node(left *int) PlanStep {
	*left--
	n := PlanStep{Kind: e.Kind, Relation: e.Relation, Index: e.Index}
	switch {
	case e.Operation != "": // of ModifyTable
		n.Kind = e.Operation
	case e.Direction == "Backward":
		n.Kind += " Backward"
	case e.Kind == "Aggregate" && e.Strategy != "Plain":
		n.Kind = e.Strategy + " " + e.Kind
	}
	for _, p := range e.Plans {
		if *left <= 0 {
			break
		}
		n.Children = append(n.Children, p.node(left))
	}
	return n
}
