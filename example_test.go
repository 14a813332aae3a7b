package plimsoll_test

import (
	"fmt"
	"os"

	"plimsoll"
	"plimsoll/dialect"
	"plimsoll/load/workload"
)

// shop is a behavior whose users do nothing yet.
type shop struct{ workload.Cast }

// Operations implements workload.Sparse.
func (*shop) Operations() []string { return []string{"look", "buy"} }

// NewActor implements workload.Behavior.
func (*shop) NewActor(workload.Env, *workload.User) (workload.Actor, error) { return nil, nil }

// A program of one's own is plimsoll with one more kind of server: every verb, report and rule knows
// its behaviors and its operations. Its main is os.Exit(plimsoll.Main(...)).
func ExampleMain() {
	service := plimsoll.Service{Dialect: &dialect.Dialect{
		Name:      "shop",
		Title:     "the shop",
		Behaviors: dialect.Registry{"buyers": func() workload.Behavior { return new(shop) }},
		Ops:       func() []string { return []string{"look", "buy"} },
	}}
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chdir(dir); err != nil {
		panic(err)
	}
	if err := os.WriteFile("shop.yaml", []byte(`
name: shop
target: {driver: external, url: "http://127.0.0.1:8080", ready: /}
workload: {behavior: buyers, params: {basket: "3"}}
bounded: {users: 100, measure: 1m, slo: ["p99(post) < 300ms"]}
`), 0o600); err != nil {
		panic(err)
	}
	os.Args, os.Stderr = []string{"shop", "plan", "check", "shop.yaml"}, os.Stdout
	fmt.Println("status", plimsoll.Main(service))
	// Output:
	// plimsoll plan: shop.yaml is no good plan:
	// 4:47: workload.params.basket: is unknown; there are none
	// 5:42: bounded.slo[0]: users of the behavior buyers never do post, so the rule would have no data; they do buy, look
	// status 2
}
