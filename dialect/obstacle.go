package dialect

import "fmt"

// An Obstacle is a setting of a server that stops a run, or makes it less than the plan wants.
type Obstacle struct {
	Setting string `json:"setting"` // as the server's configuration names it
	Value   string `json:"value"`
	Stops   bool   `json:"stops"`  // the run ends, or is not valid
	Effect  string `json:"effect"` // and the remedy
	// Most is the largest number of users of a run that the setting does not stop; 0 if it stops a
	// run of any.
	Most int `json:"-"`
}

// String returns the obstacle as part of an error.
func (o Obstacle) String() string {
	return fmt.Sprintf("%s is %s: %s", o.Setting, o.Value, o.Effect)
}
