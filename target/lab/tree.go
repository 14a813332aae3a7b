package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"plimsoll/internal/files"
	"plimsoll/internal/linux"
)

// An Owner is a user and a group.
type Owner struct{ UID, GID uint32 }

// ReplaceTree makes dst a copy of src, as if in one step: a copy cut short, by kill -9 too, leaves
// no dst. It copies directories and regular files with their modes, and for root with their owners,
// or to an owner that is given; other files, such as sockets, belong to a running server and are
// left out. It returns when the data is on disk, and early when ctx ends. The next call for dst
// removes dst.old and dst.new of a killed one.
func ReplaceTree(ctx context.Context, dst, src string, owner *Owner) error {
	if err := replaceTree(ctx, dst, src, owner); err != nil {
		return fmt.Errorf("copying a data directory: %w", err)
	}
	return nil
}

func replaceTree(ctx context.Context, dst, src string, owner *Owner) error {
	tmp, old := dst+".new", dst+".old"
	if err := os.RemoveAll(old); err != nil {
		return err
	}
	// Under another name first: a kill while it is being removed must not leave half of it as dst.
	if err := (files.OS{}).Rename(dst, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// there may be no room for both
	if err := errors.Join(os.RemoveAll(tmp), os.RemoveAll(old)); err != nil {
		return err
	}
	if err := copyTree(ctx, tmp, src, owner); err != nil {
		return errors.Join(err, os.RemoveAll(tmp))
	}
	return SettleTree(tmp, dst)
}

// SettleTree is [files.Settle] for a directory with all that is below it, which must be on one file
// system. dst must not exist.
func SettleTree(written, dst string) error {
	// One sync of the file system is far cheaper than one per file: these directories hold
	// hundreds.
	d, err := os.Open(written)
	if err != nil {
		return err
	}
	if err := errors.Join(linux.Sync(int(d.Fd())), d.Close()); err != nil {
		return err
	}
	if err := (files.OS{}).Rename(written, dst); err != nil {
		return err
	}
	return files.OS{}.Sync(filepath.Dir(dst))
}

// copyTree makes dst a copy of src in place.
func copyTree(ctx context.Context, dst, src string, owner *Owner) error {
	return filepath.WalkDir(src, func(path string, e fs.DirEntry, err error) error {
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		to := filepath.Join(dst, rel)
		info, err := e.Info()
		if err != nil {
			return err
		}
		switch {
		case e.IsDir():
			err = os.Mkdir(to, 0o700)
		case e.Type().IsRegular():
			err = copyFile(to, path, info)
		default:
			return nil
		}
		if err != nil {
			return err
		}
		if err := os.Chmod(to, info.Mode().Perm()); err != nil {
			return err
		}
		if os.Geteuid() != 0 {
			return nil
		}
		if owner != nil {
			return os.Lchown(to, int(owner.UID), int(owner.GID))
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			return os.Lchown(to, int(st.Uid), int(st.Gid))
		}
		return nil
	})
}

// copyFile shares the blocks where the file system can (reflink). Else it copies the stretches that
// hold data, in the kernel where that can, and reserves the rest: a server's log files are reserved
// in full and hold next to nothing.
func copyFile(dst, src string, info fs.FileInfo) error {
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer out.Close() // closed with its error below; a second time does no harm
	if linux.Clone(int(out.Fd()), int(in.Fd())) == nil {
		return out.Close()
	}
	size := info.Size()
	if size > 0 && linux.Reserve(int(out.Fd()), size) != nil {
		if err := out.Truncate(size); err != nil {
			return err
		}
	}
	for at := int64(0); at < size; {
		from, err := unix.Seek(int(in.Fd()), at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break // nothing but a hole up to the end
		}
		to := size
		if err != nil {
			from = at // the file system does not support holes
		} else if to, err = unix.Seek(int(in.Fd()), from, unix.SEEK_HOLE); err != nil {
			return err
		}
		if _, err := in.Seek(from, io.SeekStart); err != nil {
			return err
		}
		if _, err := out.Seek(from, io.SeekStart); err != nil {
			return err
		}
		if _, err := io.CopyN(out, in, to-from); err != nil {
			return err
		}
		at = to
	}
	return out.Close()
}
