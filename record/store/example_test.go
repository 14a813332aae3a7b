package store_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"plimsoll/record"
	"plimsoll/record/store"
)

// A run is in the store from its first second; sealing marks it as whole, and stores its validity.
func ExampleStore() {
	dir, err := os.MkdirTemp("", "plimsoll")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	s, err := store.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := s.Create(record.Manifest{
		ID:    "first",
		Name:  "example",
		Arm:   "base",
		Epoch: time.Unix(1, 0),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	list := func() {
		runs, _, err := s.List(context.Background())
		if err != nil {
			fmt.Println(err)
		}
		for _, r := range runs {
			fmt.Println(r.ID, r.Arm, r.State, "valid:", r.Valid)
		}
	}
	list()
	if _, err := w.Seal(context.Background(), record.Validity{Valid: true}, ""); err != nil {
		fmt.Println(err)
		return
	}
	list()
	// Output:
	// first base running valid: false
	// first base sealed valid: true
}
