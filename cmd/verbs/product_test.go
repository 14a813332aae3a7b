package verbs

import (
	"sync"

	"plimsoll/plan"
)

// The knowledge of the program without further services.
var (
	dialects = new(app).dialects()
	catalog  = sync.OnceValue(new(app).catalog)
)

func known() plan.Known { return new(app).known() }
