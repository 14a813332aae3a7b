package api

import (
	"context"
)

// mostPages is the largest number of pages of one list that is read: a million members, or a
// quarter of a million users of a report. A server that goes on beyond is broken or hostile.
const mostPages = 5000

// ends returns err, or refuses the last page that may be read of a list if more follow. Pages count
// from 0.
func ends(err error, page int, more bool) error {
	if err == nil && more && page+1 >= mostPages {
		err = noEffect("the list does not end within %d pages", mostPages)
	}
	return err
}

// pageOf reads one page of the list of an object, counted from 0: the values of the op's route in
// this order.
func pageOf[T any](
	ctx context.Context,
	c *Client,
	o op,
	read func([]byte) ([]T, error),
	id string,
	page, perPage int,
) ([]T, error) {
	return get(ctx, c, o, func(b []byte) ([]T, error) {
		list, err := read(b)
		return list, ends(err, page, len(list) >= perPage)
	}, id, decimal(page), decimal(perPage))
}
