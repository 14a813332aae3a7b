package lab

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// detach has an unmounted image go when its last user has.
const detach = unix.MNT_DETACH

// mountImage attaches a free loop device to a file, which lets it go when it is unmounted, and
// mounts it.
func mountImage(image, at string) error {
	ctl, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("this host has no loop devices: %w", err)
	}
	defer ctl.Close()
	f, err := os.OpenFile(image, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	for try := 1; ; try++ {
		n, err := unix.IoctlRetInt(int(ctl.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return fmt.Errorf("looking for a free loop device: %w", err)
		}
		path := "/dev/loop" + strconv.Itoa(n)
		loop, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		// Past the page cache: the file system of the image has one.
		conf := unix.LoopConfig{
			Fd:   uint32(f.Fd()),
			Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR | unix.LO_FLAGS_DIRECT_IO},
		}
		err = unix.IoctlLoopConfigure(int(loop.Fd()), &conf)
		if errors.Is(err, unix.EINVAL) { // the file system below cannot do that
			conf.Info.Flags = unix.LO_FLAGS_AUTOCLEAR
			err = unix.IoctlLoopConfigure(int(loop.Fd()), &conf)
		}
		if err == nil {
			err = unix.Mount(path, at, "xfs", unix.MS_NOATIME|unix.MS_NODEV|unix.MS_NOSUID, "")
			_ = loop.Close() // the mount holds it
			return err
		}
		_ = loop.Close()
		if !errors.Is(err, unix.EBUSY) || try == maxLoopTries {
			return fmt.Errorf("attaching %s: %w", path, err)
		}
	}
}

// maxLoopTries limits how often another program may take the free loop device first.
const maxLoopTries = 10
