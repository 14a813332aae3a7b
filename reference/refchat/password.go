package refchat

import (
	"cmp"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/crypto/bcrypt"
)

// hasher makes password hashes of one kind and verifies hashes of every kind.
type hasher struct {
	kind string // bcrypt or pbkdf2
	work int    // bcrypt cost, or PBKDF2 iterations
}

// parseHash reads "bcrypt:COST" (cost 4 to 31) or "pbkdf2:ITERATIONS" (1000 to 10,000,000).
func parseHash(s string) (hasher, error) {
	kind, work, _ := strings.Cut(s, ":")
	n, err := strconv.Atoi(work)
	switch {
	case kind == "bcrypt" && err == nil && n >= bcrypt.MinCost && n <= bcrypt.MaxCost:
	case kind == "pbkdf2" && err == nil && n >= 1000 && n <= 10_000_000:
	default:
		return hasher{},
			fmt.Errorf(
				"hash %q: want bcrypt:COST (4 to 31) or pbkdf2:ITERATIONS (1000 to 10000000)",
				s,
			)
	}
	return hasher{kind: kind, work: n}, nil
}

func (h hasher) hash(password string) (string, error) {
	if h.kind == "bcrypt" {
		b, err := bcrypt.GenerateFromPassword([]byte(password), h.work)
		if err != nil {
			return "", fmt.Errorf("hashing a password: %w", err)
		}
		return string(b), nil
	}
	salt := make([]byte, 16)
	rand.Read(salt)
	key, err := pbkdf2.Key(sha256.New, password, salt, h.work, 32)
	if err != nil {
		return "", fmt.Errorf("hashing a password: %w", err)
	}
	enc := base64.RawStdEncoding
	return fmt.Sprintf(
		"$pbkdf2$f=SHA256,w=%d,l=32$%s$%s",
		h.work,
		enc.EncodeToString(salt),
		enc.EncodeToString(key),
	), nil
}

// verify reports whether a stored hash of any kind is the password's; the work is the stored
// hash's.
func (h hasher) verify(stored, password string) bool {
	if !strings.HasPrefix(stored, "$pbkdf2$") {
		return bcrypt.CompareHashAndPassword([]byte(stored), []byte(password)) == nil
	}
	parts := strings.Split(stored, "$")
	if len(parts) != 5 {
		return false
	}
	var work, size int
	if _, err := fmt.Sscanf(parts[2], "f=SHA256,w=%d,l=%d", &work, &size); err != nil || work < 1 ||
		size != 32 {
		return false
	}
	salt, err1 := base64.RawStdEncoding.DecodeString(parts[3])
	want, err2 := base64.RawStdEncoding.DecodeString(parts[4])
	if err1 != nil || err2 != nil {
		return false
	}
	got, err := pbkdf2.Key(sha256.New, password, salt, work, size)
	return err == nil && subtle.ConstantTimeCompare(got, want) == 1
}

// outdated reports whether a stored hash was made with other settings than h; the server then
// replaces it at login, as the real one has done since it moved from bcrypt to PBKDF2.
func (h hasher) outdated(stored string) bool {
	if h.kind == "bcrypt" {
		cost, err := bcrypt.Cost([]byte(stored))
		return err != nil || cost != h.work
	}
	return !strings.HasPrefix(stored, fmt.Sprintf("$pbkdf2$f=SHA256,w=%d,l=32$", h.work))
}

// HashPassword returns the value of the users table for a password. hash is as in [Config]; ""
// means DefaultHash.
func HashPassword(hash, password string) (string, error) {
	h, err := parseHash(cmp.Or(hash, DefaultHash))
	if err != nil {
		return "", err
	}
	return h.hash(password)
}
