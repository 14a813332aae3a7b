package profile

import (
	"bytes"
	"encoding/binary"
	"math"
)

// The kinds of the kernel's records, and a bit of their headers (linux/perf_event.h).
const (
	recordLost   = 2
	recordComm   = 3
	recordExit   = 4
	recordFork   = 7
	recordSample = 9
	recordMmap2  = 10

	commOfExec = 1 << 13
)

// The marks in a call chain before the part of the kernel and that of the program; those above
// chainMarks are of other parts.
const (
	chainKernel = math.MaxUint64 - 128 + 1
	chainUser   = math.MaxUint64 - 512 + 1
	chainMarks  = math.MaxUint64 - 4095 + 1
)

// A rawRecord is one of the kernel's records, which is read where it lies.
type rawRecord struct {
	kind uint32
	misc uint16
	time uint64
	body []byte // behind the header
}

const headerSize = 8

// records splits the bytes of a ring. It ends at bytes that are no record.
func records(b []byte, out []rawRecord) []rawRecord {
	for len(b) >= headerSize {
		r := rawRecord{kind: le32(b), misc: uint16(le32(b[4:])), body: b[headerSize:]}
		size := int(le32(b[4:]) >> 16)
		if size < headerSize || size > len(b) {
			break
		}
		r.body, b = b[headerSize:size], b[size:]
		switch {
		case r.kind == recordSample && len(r.body) >= 24:
			r.time = le64(r.body[8:]) // behind the numbers of process and thread
		case r.kind != recordSample && len(r.body) >= 24:
			r.time = le64(r.body[len(r.body)-8:]) // with every other record, at its end
		default:
			continue
		}
		out = append(out, r)
	}
	return out
}

// pid returns the process of a record that has one.
func (r rawRecord) pid() int { return int(int32(le32(r.body))) }

// parent returns the parent of the process of a fork, and whether it is no mere thread.
func (r rawRecord) parent() (pid int, forked bool) {
	pid = int(int32(le32(r.body[4:])))
	return pid, pid != r.pid()
}

// leader reports whether the thread of a record is the first one of its process.
func (r rawRecord) leader() bool { return le32(r.body) == le32(r.body[8:]) }

// lost returns how many records were lost.
func (r rawRecord) lost() int64 { return int64(le64(r.body[8:])) }

// chain returns the addresses of a sample, innermost first: those in the kernel, and those in the
// program; and the word at the top of the program's stack, 0 if it is not there.
func (r rawRecord) chain(kernel, user []uint64) (inKernel, inUser []uint64, top uint64) {
	n := min(le64(r.body[16:]), uint64(len(r.body)-24)/8)
	in := byte(0)
	for i := range n {
		switch ip := le64(r.body[24+8*i:]); {
		case ip == chainKernel:
			in = 'k'
		case ip == chainUser:
			in = 'u'
		case ip >= chainMarks:
			in = 0
		case in == 'k':
			kernel = append(kernel, ip)
		case in == 'u':
			user = append(user, ip)
		}
	}
	// Behind the chain: size, bytes of the stack, how many of them are valid.
	if stack := r.body[24+8*n:]; len(stack) >= 24 && le64(stack) == 8 && le64(stack[16:]) == 8 {
		top = le64(stack[8:])
	}
	return kernel, user, top
}

// mapping returns the mapping of a record of kind recordMmap2; false if it is cut short.
func (r rawRecord) mapping() (m mapping, ok bool) {
	const fixed = 64
	if len(r.body) < fixed {
		return mapping{}, false
	}
	name, _, _ := bytes.Cut(r.body[fixed:], []byte{0})
	start := le64(r.body[8:])
	return mapping{
		start:  start,
		end:    start + le64(r.body[16:]),
		offset: le64(r.body[24:]),
		file: fileID{
			major: le32(r.body[32:]), minor: le32(r.body[36:]),
			inode: le64(r.body[40:]), path: string(name),
		},
	}, true
}

func le32(b []byte) uint32 { return binary.NativeEndian.Uint32(b) }
func le64(b []byte) uint64 { return binary.NativeEndian.Uint64(b) }
