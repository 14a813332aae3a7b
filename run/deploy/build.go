package deploy

import (
	"plimsoll/record"
	"plimsoll/target/lab"
)

// BuildDigest names this program by its file: two builds of one version are not the same program.
func BuildDigest() (string, error) {
	exe, err := lab.Executable()
	if err != nil {
		return "", err
	}
	return record.DigestFile(exe)
}
