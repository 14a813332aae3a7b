package verbs

import (
	"sync"

	"plimsoll/cmd/internal/app"
	"plimsoll/plan"
)

// The knowledge of the program without further services.
var (
	dialects = new(app.App).Dialects()
	catalog  = sync.OnceValue(new(app.App).Catalog)
)

func known() plan.Known { return new(app.App).Known() }
