package script

import (
	"context"
	"errors"
	"strconv"

	"github.com/grafana/sobek"

	"plimsoll/load/workload"
)

// Audit implements workload.Auditor: it calls the script's function audit for each channel.
func (b *Behavior) Audit(
	ctx context.Context, env workload.Env, acked []workload.AckedMessages,
) (res workload.AuditResult, err error) {
	res.Part = 1
	for _, m := range acked {
		res.Expected += len(m.IDs)
	}
	if b.play == nil {
		return res, errUnready
	}
	if !b.play.Has.Audit {
		res.Note = "the script exports no function audit"
		return res, nil
	}
	r, err := b.play.aside(ctx, env)
	if err != nil {
		return res, err
	}
	defer r.close()
	for _, m := range acked {
		there, err := r.readable(ctx, m)
		switch {
		case errors.Is(err, workload.ErrStop):
			res.Note = "the time was over before all were read"
			return res, nil
		case err != nil:
			res.Refuse(len(m.IDs), "audit("+strconv.Quote(m.Channel)+", ids): "+err.Error())
			continue
		}
		for _, id := range m.IDs {
			if there[id] {
				res.Readable++
			} else {
				res.Miss(id)
			}
		}
	}
	return res, nil
}

// readable returns the ids that the script's audit finds in a channel.
func (r *realm) readable(ctx context.Context, m workload.AckedMessages) (there map[string]bool, err error) {
	there = map[string]bool{}
	return there, r.run(frame{ctx: ctx}, func() error {
		ids := make([]any, len(m.IDs))
		for i, id := range m.IDs {
			ids[i] = id
		}
		v, err := settled(
			r.exports.audit(sobek.Undefined(), r.rt.ToValue(m.Channel), r.rt.NewArray(ids...)))
		if err != nil {
			return err
		}
		list, ok := v.(*sobek.Object)
		if !ok || list.ClassName() != "Array" {
			return errors.New("it returned no array of the ids that can be read")
		}
		for i := range int(list.Get("length").ToInteger()) {
			there[list.Get(strconv.Itoa(i)).String()] = true
		}
		return nil
	})
}
