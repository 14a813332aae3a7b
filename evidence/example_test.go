package evidence_test

import (
	"fmt"

	"plimsoll/evidence"
	"plimsoll/record"
)

// A stored run answers by the plan in its manifest.
func Example() {
	known := new(evidence.Catalog)
	run := known.Of(&record.Run{Manifest: record.Manifest{
		Plan: "name: chat\ntarget: {driver: chat}\nworkload: {behavior: poster, pace: 0.5}\nbounded: {users: 10}\n",
	}})
	p, err := run.Plan()
	if err != nil {
		panic(err)
	}
	fmt.Println(p.Name, p.Workload.Behavior, p.Workload.Pace)
	// Output:
	// chat poster 0.5
}

// Numbers of another tool are judged on terms: here capacities, of which 5 % less would not matter.
func ExampleTerms_ReadPairs() {
	terms := evidence.Terms{Name: "capacity", Unit: "users", Margin: "5%", Arms: "v1,v2"}
	pairs, err := terms.ReadPairs("capacity.csv", []byte(`pair,base,new
1,14186,16007
2,15232,16942
3,14805,16391
4,14410,16120
5,15011,16688
6,14604,16255
`))
	if err != nil {
		panic(err)
	}
	doc, err := pairs.Judged(false)
	if err != nil {
		panic(err)
	}
	for _, f := range doc.Verdicts {
		r := f.Verdict.Results[0]
		fmt.Printf(
			"%s against %s: %s %s by %d pairs\n",
			f.Arm,
			doc.Arms[0].Name,
			r.Name,
			r.Kind,
			r.N,
		)
	}
	// Output:
	// v2 against v1: capacity better by 6 pairs
}
