package probe

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Requests of the ioctl SIOCETHTOOL (linux/ethtool.h).
const (
	ethtoolGetRing = 0x10
	ethtoolGetTSO  = 0x1e
	ethtoolGetGSO  = 0x23
	ethtoolGetGRO  = 0x2b
)

// ethtool asks a device's driver. The first word of data is the request.
func ethtool(device string, data unsafe.Pointer) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var req struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte // struct ifreq is larger than what is used here
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

// ringsOf reads what "ethtool -g" shows.
func ringsOf(device string) (ring, error) {
	p := struct{ cmd, rxMax, rxMiniMax, rxJumboMax, txMax, rx, rxMini, rxJumbo, tx uint32 }{cmd: ethtoolGetRing}
	if err := ethtool(device, unsafe.Pointer(&p)); err != nil {
		return ring{}, err
	}
	return ring{rx: p.rx, tx: p.tx, rxMax: p.rxMax, txMax: p.txMax}, nil
}

// offloadsOf reads the offloads of "ethtool -k" that matter here.
func offloadsOf(device string) (map[string]bool, error) {
	on := map[string]bool{}
	for name, cmd := range map[string]uint32{"tso": ethtoolGetTSO, "gso": ethtoolGetGSO, "gro": ethtoolGetGRO} {
		v := struct{ cmd, data uint32 }{cmd: cmd}
		if err := ethtool(device, unsafe.Pointer(&v)); err != nil {
			return nil, err
		}
		on[name] = v.data != 0
	}
	return on, nil
}

// clockSynced reads the kernel's state of synchronization, as adjtimex(2) tells it.
func clockSynced() (bool, error) {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return false, err
	}
	return state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0, nil
}
