package api

import (
	"fmt"

	"plimsoll/load/wire"
)

// mostPages is the largest number of pages of one list that is read: a million members, or a quarter of a million
// users of a report. A server that goes on beyond is broken or hostile.
const mostPages = 5000

// ends refuses the last page that may be read of a list, counted from 0, if it has a successor.
func ends(page int, more bool) error {
	if more && page+1 >= mostPages {
		return fmt.Errorf("%w: the list does not end within %d pages", ErrEffect, mostPages)
	}
	return nil
}

// membersOf is [idsOf] for one page of members, counted from 0.
func membersOf(page, perPage int, ids *[]string) func(*wire.Response) error {
	read := idsOf("user_id", ids)
	return func(resp *wire.Response) error {
		if err := read(resp); err != nil {
			return err
		}
		return ends(page, len(*ids) >= perPage)
	}
}
