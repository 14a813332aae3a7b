package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/built"
	"plimsoll/internal/files"
	"plimsoll/internal/plain"
)

// ErrAltered reports stored data that was changed after it was written.
var ErrAltered = errors.New("is not what it was")

// digestsKey is the member of a stored object that holds the digests of the others.
const digestsKey = "digests"

// digestKey is the member of a manifest that holds its only digest, allMembers.
const digestKey = "digest"

// allMembers is the digest of all others, so that none goes with its member.
const allMembers = "*"

// memberDigests returns the SHA-256 of each member of a JSON object: of its text without space
// between tokens.
func memberDigests(object []byte) (map[string]string, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		return nil, err
	}
	out := make(map[string]string, len(members))
	for name, text := range members {
		var b bytes.Buffer
		if err := json.Compact(&b, text); err != nil {
			return nil, err
		}
		out[name] = DigestOf(b.Bytes())
	}
	return out, nil
}

// DigestOf returns "sha256:" and the hexadecimal digest of a text.
func DigestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return digestText(sum[:])
}

func digestText(sum []byte) string { return "sha256:" + hex.EncodeToString(sum) }

// A digested object carries digests of itself. carry puts them into it; nil takes them out.
type digested interface {
	carry(digests map[string]string)
}

func (c *Comparison) carry(digests map[string]string) { c.Digests = digests }

func (z *Sizing) carry(digests map[string]string) { z.Digests = digests }

func (m *Manifest) carry(digests map[string]string) { m.Digest = digests[allMembers] }

// writeDigested writes v with the digests of the written text, from which the secrets are removed.
// If secrets are added meanwhile, it begins again.
func writeDigested(disk Disk, path string, v digested, secrets *plain.Secrets) error {
	for range 3 {
		v.carry(nil)
		bare, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
		members, err := memberDigests(secrets.JSON(bare))
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
		all := digestOfMembers(members)
		members[allMembers] = all
		v.carry(members)
		whole, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
		whole = secrets.JSON(whole)
		have, err := memberDigests(whole)
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
		delete(have, digestsKey)
		delete(have, digestKey)
		if digestOfMembers(have) == all {
			return files.Replace(disk, path, append(whole, '\n'))
		}
	}
	return fmt.Errorf(
		"%s: its secrets became more while it was written, three times",
		filepath.Base(path),
	)
}

// checkDigests holds the text of a stored object against the digests in it. Members that were
// changed, added or taken away are named in the error, which wraps [ErrAltered]. some is false for
// an object without digests.
func checkDigests(object []byte) (some bool, err error) {
	var stored struct {
		Digests map[string]string `json:"digests"`
	}
	have, err := memberDigests(object)
	if err == nil {
		err = json.Unmarshal(object, &stored)
	}
	if err != nil {
		return false, err
	}
	if stored.Digests == nil {
		return false, nil
	}
	delete(have, digestsKey)
	have[allMembers] = digestOfMembers(have)
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(stored.Digests)) {
		if have[name] != stored.Digests[name] {
			changed = append(changed, name)
		}
		delete(have, name)
	}
	changed = append(changed, slices.Sorted(maps.Keys(have))...)
	if len(changed) > 1 { // a member is more specific
		changed = slices.DeleteFunc(changed, func(name string) bool { return name == allMembers })
	}
	if len(changed) > 0 {
		return true, fmt.Errorf(
			"%w: %s changed since it was written",
			ErrAltered,
			strings.Join(changed, ", "),
		)
	}
	return true, nil
}

// SaveComparison writes c, with its digests, to path in one step ([WriteJSONTo]). A comparison read
// from a file without digests stays without: earlier changes to it are unknown.
func SaveComparison(disk Disk, path string, c *Comparison, secrets *plain.Secrets) error {
	c.Format = FormatVersion
	if c.Undigested {
		return WriteJSONTo(disk, path, c, secrets)
	}
	return writeDigested(disk, path, c, secrets)
}

// ReadComparison reads the text of comparison.json. The error wraps [ErrAltered] when it was
// changed after it was written.
func ReadComparison(text []byte) (*Comparison, error) {
	c := new(Comparison)
	return c, readDigested(text, c, &c.Undigested)
}

// SaveSizing is [SaveComparison] for steps.json.
func SaveSizing(disk Disk, path string, z *Sizing, secrets *plain.Secrets) error {
	z.Format = FormatVersion
	if z.Undigested {
		return WriteJSONTo(disk, path, z, secrets)
	}
	return writeDigested(disk, path, z, secrets)
}

// ReadSizing is [ReadComparison] for steps.json. It refuses those of other formats.
func ReadSizing(text []byte) (*Sizing, error) {
	z := new(Sizing)
	err := readDigested(text, z, &z.Undigested)
	if err == nil && z.Format != FormatVersion {
		err = fmt.Errorf("format %d, this version reads %d", z.Format, FormatVersion)
	}
	return z, err
}

func readDigested(text []byte, v any, undigested *bool) error {
	if err := built.NewerJSON(text, "", FormatVersion); err != nil {
		return err
	}
	some, err := checkDigests(text)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	*undigested = !some
	return err
}

// digestOfMembers returns the digest of digests.
func digestOfMembers(members map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(members)) {
		fmt.Fprintf(&b, "%s %s\n", name, members[name])
	}
	return DigestOf([]byte(b.String()))
}

// manifestAltered reports whether the text of a manifest does not match the digest in it. A
// manifest without a digest, which is not sealed or of an earlier version, is not reported as
// altered.
func manifestAltered(text []byte, digest string) (bool, error) {
	if digest == "" {
		return false, nil
	}
	members, err := memberDigests(text)
	if err != nil {
		return false, err
	}
	delete(members, digestKey)
	return digestOfMembers(members) != digest, nil
}
