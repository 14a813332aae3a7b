package script

import "plimsoll/load/script/bundle"

// parcel is the bundle of a script.
type parcel = bundle.Bundle
