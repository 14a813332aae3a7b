package probe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Requests of the ioctl SIOCETHTOOL (linux/ethtool.h).
const (
	ethtoolGetInfo    = 0x03
	ethtoolGetRing    = 0x10
	ethtoolGetStrings = 0x1b
	ethtoolGetStats   = 0x1d
	ethtoolGetTSO     = 0x1e
	ethtoolGetGSO     = 0x23
	ethtoolGetGRO     = 0x2b
)

// ethtool sends a request to a device's driver. The first word of data is the request.
func ethtool(device string, data unsafe.Pointer) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var req struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte // struct ifreq is larger than the part used here
	}
	if len(device) >= len(req.name) {
		return fmt.Errorf("%q is no device's name", device)
	}
	copy(req.name[:], device)
	req.data = data
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&req))); errno != 0 {
		return errno
	}
	return nil
}

// ringsOf reads the values of "ethtool -g".
func ringsOf(device string) (ring, error) {
	p := struct{ cmd, rxMax, rxMiniMax, rxJumboMax, txMax, rx, rxMini, rxJumbo, tx uint32 }{
		cmd: ethtoolGetRing,
	}
	if err := ethtool(device, unsafe.Pointer(&p)); err != nil {
		return ring{}, err
	}
	return ring{rx: p.rx, tx: p.tx, rxMax: p.rxMax, txMax: p.txMax}, nil
}

// offloadsOf reads the offloads of "ethtool -k" that matter here.
func offloadsOf(device string) (map[string]bool, error) {
	on := map[string]bool{}
	for name, cmd := range map[string]uint32{
		"tso": ethtoolGetTSO,
		"gso": ethtoolGetGSO,
		"gro": ethtoolGetGRO,
	} {
		v := struct{ cmd, data uint32 }{cmd: cmd}
		if err := ethtool(device, unsafe.Pointer(&v)); err != nil {
			return nil, err
		}
		on[name] = v.data != 0
	}
	return on, nil
}

// deviceDriver sends requests to one device's driver.
type deviceDriver struct {
	device string
	n      int    // of counters
	buf    []byte // of the answer
}

func newEthtool(device string) ethtoolDriver { return &deviceDriver{device: device} }

func (d *deviceDriver) rings() (ring, error) { return ringsOf(d.device) }

// counters returns how many counters the driver has: struct ethtool_drvinfo has their number behind
// 180 bytes of texts.
func (d *deviceDriver) counters() (int, error) {
	info := struct {
		cmd     uint32
		texts   [5*32 + 12]byte
		_       uint32 // private flags
		stats   uint32
		_, _, _ uint32
	}{cmd: ethtoolGetInfo}
	if err := ethtool(d.device, unsafe.Pointer(&info)); err != nil {
		return 0, err
	}
	if info.stats > 1<<16 {
		return 0, fmt.Errorf("%d counters", info.stats)
	}
	return int(info.stats), nil
}

// answer returns a buffer for n entries, with room to spare: the driver writes as many as it has at
// that moment.
func (d *deviceDriver) answer(head, n, size int) []byte {
	if want := head + (2*n+1024)*size; len(d.buf) < want {
		d.buf = make([]byte, want)
	}
	return d.buf
}

func (d *deviceDriver) names() ([]string, error) {
	const head, size, statistics = 12, 32, 1 // cmd, string_set, len; ETH_GSTRING_LEN; ETH_SS_STATS
	var err error
	if d.n, err = d.counters(); err != nil || d.n == 0 {
		return nil, err
	}
	b := d.answer(head, d.n, size)
	binary.NativeEndian.PutUint32(b, ethtoolGetStrings)
	binary.NativeEndian.PutUint32(b[4:], statistics)
	binary.NativeEndian.PutUint32(b[8:], uint32(d.n))
	if err := ethtool(d.device, unsafe.Pointer(&b[0])); err != nil {
		return nil, err
	}
	if n := int(binary.NativeEndian.Uint32(b[8:])); n != d.n {
		return nil, fmt.Errorf("%d names of %d counters", n, d.n)
	}
	names := make([]string, d.n)
	for i := range names {
		text, _, _ := bytes.Cut(b[head+i*size:head+(i+1)*size], []byte{0})
		names[i] = string(text)
	}
	return names, nil
}

func (d *deviceDriver) values(into []uint64) error {
	const head, size = 8, 8 // cmd, n_stats
	b := d.answer(head, len(into), size)
	binary.NativeEndian.PutUint32(b, ethtoolGetStats)
	binary.NativeEndian.PutUint32(b[4:], uint32(len(into)))
	if err := ethtool(d.device, unsafe.Pointer(&b[0])); err != nil {
		return err
	}
	if n := int(binary.NativeEndian.Uint32(b[4:])); n != len(into) {
		return errors.New(
			"their number has changed: the device's queues were set up anew during the run",
		)
	}
	for i := range into {
		into[i] = binary.NativeEndian.Uint64(b[head+i*size:])
	}
	return nil
}

// clockSynced reads the kernel's state of synchronization, as adjtimex(2) returns it.
func clockSynced() (bool, error) {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return false, err
	}
	return state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0, nil
}
