package jvm

import (
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"plimsoll/target/lab"
)

// obtainTimeout bounds the downloads of one server: 46 to 66 MB.
const obtainTimeout = 10 * time.Minute

// javaMajor is the Java release that all three servers run on.
const javaMajor = "17"

//go:embed artifacts
var artifacts embed.FS

// javaPlaces are where packages put Java, besides JAVA_HOME and PATH.
var javaPlaces = []string{"/usr/lib/jvm/*", "/usr/java/*", "/opt/java/*"}

var javaVersion = regexp.MustCompile(`(?m)^JAVA_VERSION="(([0-9]+)[^"]*)"`)

// findJava returns the directory of java and javac of the wanted release: of JAVA_HOME, of PATH, or
// of a package.
func findJava() (bin string, err error) {
	var homes []string
	if home := os.Getenv("JAVA_HOME"); home != "" {
		homes = append(homes, home)
	}
	if path, err := exec.LookPath("java"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			homes = append(homes, filepath.Dir(filepath.Dir(path)))
		}
	}
	for _, pattern := range javaPlaces {
		more, _ := filepath.Glob(pattern) // the patterns are well-formed
		homes = append(homes, more...)
	}
	return pickJava(homes)
}

// pickJava returns the first home's bin that is a development kit of the wanted release.
func pickJava(homes []string) (bin string, err error) {
	var others []string
	for _, home := range homes {
		release, err := os.ReadFile(filepath.Join(home, "release"))
		if err != nil {
			continue
		}
		m := javaVersion.FindSubmatch(release)
		if m == nil {
			continue
		}
		bin := filepath.Join(home, "bin")
		whole := isFile(filepath.Join(bin, "java")) && isFile(filepath.Join(bin, "javac"))
		if string(m[2]) == javaMajor && whole {
			return bin, nil
		}
		text := string(m[1])
		if !whole {
			text += " without javac"
		}
		if !slices.Contains(others, text) {
			others = append(others, text)
		}
	}
	found := "none"
	if len(others) > 0 {
		found = strings.Join(others, ", ")
	}
	return "", fmt.Errorf(
		"no Java %s development kit on this host (found: %s): install one, on Debian and Ubuntu with apt-get install openjdk-%s-jdk-headless, or set JAVA_HOME",
		javaMajor,
		found,
		javaMajor,
	)
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// digest identifies a set of artifacts.
func (p *product) digest() (string, error) {
	h := sha256.New()
	for _, name := range []string{p.name + ".pom.xml", p.starter + ".java"} {
		b, err := artifacts.ReadFile("artifacts/" + name)
		if err != nil && !strings.HasPrefix(name, ".") {
			return "", err
		}
		h.Write(b)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:4]), nil
}

// obtain returns the directory of the product's programs, which Maven fetches when they are not in
// the cache: lib with the archives, and classes with the starter, if it has one.
func (p *product) obtain(ctx context.Context, java string) (home string, err error) {
	sum, err := p.digest()
	if err != nil {
		return "", fmt.Errorf("obtaining %s: %w", p.title, err)
	}
	cache, err := lab.CacheDir()
	if err != nil {
		return "", err
	}
	home = filepath.Join(cache, p.name+"-"+sum)
	if isFile(filepath.Join(home, "lib", p.jar)) {
		return home, nil
	}
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return "", fmt.Errorf(
			"%s is not here, and neither is mvn to obtain it with: install it, on Debian and Ubuntu with apt-get install maven",
			p.title,
		)
	}
	tmp, err := os.MkdirTemp(cache, "unpack-")
	if err != nil {
		return "", fmt.Errorf("obtaining %s: %w", p.title, err)
	}
	defer os.RemoveAll(tmp)
	ctx, cancel := context.WithTimeoutCause(
		ctx,
		obtainTimeout,
		fmt.Errorf("mvn did not end within %v", obtainTimeout),
	)
	defer cancel()
	if err := p.fetch(ctx, java, mvn, tmp); err != nil {
		return "", fmt.Errorf("obtaining %s: %w", p.title, err)
	}
	// Another program may have been faster: then its copy is as good.
	if err := lab.SettleTree(filepath.Join(tmp, "home"), home); err != nil &&
		!isFile(filepath.Join(home, "lib", p.jar)) {
		return "", fmt.Errorf("obtaining %s: %w", p.title, err)
	}
	return home, nil
}

// fetch fills tmp/home.
func (p *product) fetch(ctx context.Context, java, mvn, tmp string) error {
	lib, classes := filepath.Join(tmp, "home", "lib"), filepath.Join(tmp, "home", "classes")
	if err := errors.Join(os.MkdirAll(lib, 0o755), os.MkdirAll(classes, 0o755), os.Chmod(tmp, 0o755)); err != nil {
		return err
	}
	for _, name := range []string{p.name + ".pom.xml", p.starter + ".java"} {
		if strings.HasPrefix(name, ".") {
			continue
		}
		b, err := artifacts.ReadFile("artifacts/" + name)
		if err == nil {
			err = os.WriteFile(filepath.Join(tmp, name), b, 0o644)
		}
		if err != nil {
			return err
		}
	}
	if err := lab.Run(ctx, lab.Spec{
		Name: "mvn",
		Path: mvn,
		Dir:  tmp,
		Args: []string{"--batch-mode", "--quiet", "--strict-checksums", "--file", p.name + ".pom.xml",
			"dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=" + lib},
	}); err != nil {
		return err
	}
	if !isFile(filepath.Join(lib, p.jar)) {
		return fmt.Errorf("mvn left no %s", p.jar)
	}
	if p.starter == "" {
		return nil
	}
	return lab.Run(ctx, lab.Spec{
		Name: "javac",
		Path: filepath.Join(java, "javac"),
		Dir:  tmp,
		Args: []string{
			"-nowarn",
			"-proc:none",
			"-d",
			classes,
			"-cp",
			filepath.Join(lib, "*"),
			p.starter + ".java",
		},
	})
}
