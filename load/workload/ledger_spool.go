package workload

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"iter"
	"math/bits"
	"os"
	"slices"
	"sync"
)

// A ledgerSpool keeps the ids of acknowledged messages for the audit: all, or beyond most of them a
// sample by their hash. They are in a temporary file from which they are read once, at the end.
// Where none can be made, or one takes no more, those that are not in it are in memory: a full disk
// changes no result.
//
// The file has lost its name as soon as it is there, so that nothing is left however the program
// ends. Its descriptor is closed, as that of any [os.File], when nothing leads to the ledger any
// more.
//
// A record is the number of the channel, and the id and that of the message that it answers, each
// after its length; the numbers are uvarints.
type ledgerSpool struct {
	salt uint64 // of the sample
	most int64  // ids in the sample

	mu       sync.Mutex // after that of a shard
	levels   [65]int64  // ids so far, by level
	k        int        // the sample has the ids of this level and higher ones
	size     int64      // of the sample
	channels []spooledChannel
	fresh    []byte // records that are not written yet

	writing sync.Mutex // before mu
	spare   []byte     // for fresh
	file    *os.File
	end     int64 // of the records in the file
	barred  bool  // there is no file, or it takes no more
	held    []byte
	thinned int // the k of held
}

// mostFresh is the largest number of bytes of records that wait for [Ledger.Settle], which no user
// waits for. Only if there are more, as when the disk stands still for seconds or nobody settles,
// the message that is one too many has them written.
const mostFresh = 4 << 20

// level returns how many low bits of an id's hash are zero. The ids of level k and higher ones are
// a sample of one in two to the power of k.
func level[T string | []byte](salt uint64, id T) int {
	h := 14695981039346656037 ^ salt // FNV-1a
	for i := range len(id) {
		h = (h ^ uint64(id[i])) * 1099511628211
	}
	h ^= h >> 32
	return bits.TrailingZeros64(h)
}

// add takes in a message of a channel; root is "" if it answers none. The channel's shard is
// locked.
func (p *ledgerSpool) add(s *ledgerShard, c *ledgerChannel, id, root string) {
	if p.fit(s, c, id, root) {
		p.write()
	}
}

// fit adds a record if the id belongs to the sample, and reports whether there are now too many
// that are not written.
func (p *ledgerSpool) fit(s *ledgerShard, c *ledgerChannel, id, root string) (full bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	z := level(p.salt, id)
	p.levels[z]++
	if z < p.k {
		return false
	}
	p.size++
	for ; p.size > p.most && p.k < len(p.levels)-1; p.k++ {
		p.size -= p.levels[p.k]
	}
	if z < p.k {
		return false
	}
	if c.spooled == 0 {
		p.channels = append(p.channels, spooledChannel{s, c})
		c.spooled = len(p.channels)
	}
	p.fresh = appendRecord(p.fresh, c.spooled-1, id, root)
	return len(p.fresh) >= mostFresh
}

func appendRecord[T string | []byte](to []byte, channel int, id, root T) []byte {
	to = binary.AppendUvarint(to, uint64(channel))
	to = append(binary.AppendUvarint(to, uint64(len(id))), id...)
	return append(binary.AppendUvarint(to, uint64(len(root))), root...)
}

// write puts what was added so far into the file, or holds it.
func (p *ledgerSpool) write() { p.view() }

// A spoolView holds the records of a spool until an instant. It takes no lock and does not change.
type spoolView struct {
	salt     uint64
	k        int
	size     int64
	channels []spooledChannel // by number
	file     *os.File
	end      int64
	held     []byte
}

// view writes what was added so far, and returns it.
func (p *ledgerSpool) view() spoolView {
	p.writing.Lock()
	defer p.writing.Unlock()
	p.mu.Lock()
	v := spoolView{salt: p.salt, k: p.k, size: p.size, channels: p.channels}
	fresh := p.fresh
	p.fresh = p.spare
	p.mu.Unlock()
	p.spare = fresh[:0]
	if len(fresh) > 0 {
		p.put(fresh, v.k)
	}
	v.file = p.file
	v.end = p.end
	v.held = p.held
	return v
}

// put puts records of the sample of k into the file, or holds them. writing is locked.
func (p *ledgerSpool) put(fresh []byte, k int) {
	if p.file == nil && !p.barred {
		p.file = unnamed()
		p.barred = p.file == nil
	}
	if !p.barred {
		_, err := p.file.WriteAt(fresh, p.end)
		if err == nil {
			p.end += int64(len(fresh))
			return
		}
		p.barred = true // nobody reads beyond the end, where a part may be
	}
	if p.thinned != k {
		p.held, p.thinned = thin(p.held, p.salt, k), k
	}
	p.held = append(p.held, fresh...)
}

// unnamed returns a temporary file without a name; nil if none can be made.
func unnamed() *os.File {
	f, err := os.CreateTemp("", "plimsoll-acked-")
	if err != nil {
		return nil
	}
	if os.Remove(f.Name()) != nil {
		f.Close()
		return nil
	}
	return f
}

// thin returns a copy of the records whose ids are of level k or a higher one.
func thin(held []byte, salt uint64, k int) (left []byte) {
	for r := range records(bytes.NewReader(held)) {
		if level(salt, r.id) >= k {
			left = appendRecord(left, r.channel, r.id, r.root)
		}
	}
	return left
}

// A spoolRecord is one of a spool. Its bytes are valid until the next one.
type spoolRecord struct {
	channel  int
	id, root []byte
}

// records returns those of the sample in the order in which they were added, as far as the disk
// gives them back.
func (v spoolView) records() iter.Seq[spoolRecord] {
	return func(yield func(spoolRecord) bool) {
		sources := []io.Reader{bytes.NewReader(v.held)}
		if v.file != nil {
			sources = []io.Reader{io.NewSectionReader(v.file, 0, v.end), sources[0]}
		}
		for _, from := range sources {
			for r := range records(from) {
				if level(v.salt, r.id) >= v.k && !yield(r) {
					return
				}
			}
		}
	}
}

// records reads up to the end, or to the first that cannot be read.
func records(from io.Reader) iter.Seq[spoolRecord] {
	return func(yield func(spoolRecord) bool) {
		in := bufio.NewReaderSize(from, 64<<10)
		var r spoolRecord
		for {
			n, err := binary.ReadUvarint(in)
			r.channel = int(n)
			for _, text := range [...]*[]byte{&r.id, &r.root} {
				if err == nil {
					*text, err = spoolText(in, *text)
				}
			}
			if err != nil || !yield(r) {
				return
			}
		}
	}
}

// spoolText reads a text after its length, into the room of another.
func spoolText(in *bufio.Reader, room []byte) ([]byte, error) {
	n, err := binary.ReadUvarint(in)
	if err != nil {
		return room, err
	}
	text := slices.Grow(room[:0], int(n))[:n]
	_, err = io.ReadFull(in, text)
	return text, err
}
