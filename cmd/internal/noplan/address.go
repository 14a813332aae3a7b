package noplan

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
)

var (
	hostPort = regexp.MustCompile(`^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+):[0-9]+(/\S*)?$`)
	hostOnly = regexp.MustCompile(`^([A-Za-z0-9-]+\.)*[A-Za-z0-9-]*[A-Za-z0-9](/\S*)?$`)
	planFile = regexp.MustCompile(`\.(ya?ml|json)$`)
)

// IsAddress reports whether an argument is an address of a server, and not the file of a plan:
// http://HOST or HOST:PORT, unless a file has that name.
func IsAddress(arg string) bool {
	if strings.Contains(arg, "://") {
		return true
	}
	_, err := os.Lstat(arg)
	return err != nil && hostPort.MatchString(arg)
}

// URL returns the address that an argument is, with its scheme; "" for any other argument.
func URL(arg string) string {
	switch {
	case !IsAddress(arg):
		return ""
	case strings.Contains(arg, "://"):
		return arg
	}
	return "http://" + arg
}

// Hint adds a remedy to the error of a file that is not there, if its name is more like an address.
func Hint(name string, err error) error {
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case IsAddress(name):
		return fmt.Errorf(
			"%w: an address, where the file of a plan is wanted; plimsoll run -save "+
				"plan.yaml %s writes one", err, name)
	case hostOnly.MatchString(name) && !planFile.MatchString(name) && (strings.Contains(name, ".") || name == "localhost"):
		return fmt.Errorf("%w; write the address of a server as http://%s, or https", err, name)
	}
	return err
}
