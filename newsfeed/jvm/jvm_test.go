package jvm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// javaHome makes the home of a Java without anything that runs.
func javaHome(t *testing.T, version string, programs ...string) string {
	t.Helper()
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"release": "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"" + version + "\"\nOS_NAME=\"Linux\"\n",
	}
	for _, p := range programs {
		files[filepath.Join("bin", p)] = ""
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// TestJavaIsPicked: of several, the development kit of the right release, wherever it stands.
func TestJavaIsPicked(t *testing.T) {
	newer, runtime := javaHome(t, "25.0.1", "java", "javac"), javaHome(t, "17.0.15", "java")
	right, old := javaHome(t, "17.0.9", "java", "javac"), javaHome(t, "1.7.0_80", "java", "javac")
	if bin, err := pickJava([]string{t.TempDir(), newer, old, runtime, right}); err != nil ||
		bin != filepath.Join(right, "bin") {
		t.Errorf("picked %s, %v; want %s", bin, err, right)
	}
	_, err := pickJava([]string{newer, runtime})
	if err == nil || !strings.Contains(err.Error(), "found: 25.0.1, 17.0.15 without javac") ||
		!strings.Contains(err.Error(), "openjdk-17-jdk-headless") {
		t.Errorf("got %v: want what there is and the remedy", err)
	}
	if _, err := pickJava(nil); err == nil || !strings.Contains(err.Error(), "found: none") {
		t.Errorf("got %v: want that there is none", err)
	}
}

// TestSettingsWin checks that the caller's settings replace ours.
func TestSettingsWin(t *testing.T) {
	got := settingsText(": ", map[string]string{
		"b": "2",
		"c": "3",
	}, map[string]string{"a": "1", "b": "0"})
	if got != "a: 1\nb: 2\nc: 3\n" {
		t.Errorf("got %q", got)
	}
}

// TestArtifactsAreTold: one version, in the pom file and in the name of the archive that must be
// there; and another pom file is another directory.
func TestArtifactsAreTold(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range []*product{cassandra, openSearch, kafka} {
		pom, err := artifacts.ReadFile("artifacts/" + p.name + ".pom.xml")
		if err != nil {
			t.Fatal(err)
		}
		name, _, ok := strings.Cut(strings.TrimSuffix(p.jar, ".jar"), "-"+versionOf(p.jar))
		if !ok ||
			!strings.Contains(
				string(pom),
				"<artifactId>"+name+"</artifactId>\n      <version>"+versionOf(p.jar)+"</version>",
			) {
			t.Errorf("%s: the pom file lacks %s", p.name, p.jar)
		}
		sum, err := p.digest()
		if err != nil || seen[sum] {
			t.Errorf("%s: digest %q, %v", p.name, sum, err)
		}
		seen[sum] = true
	}
	without := *openSearch
	without.starter = ""
	a, _ := openSearch.digest()
	if b, err := without.digest(); err != nil || a == b {
		t.Errorf("the starter does not count: %s %s, %v", a, b, err)
	}
}

// versionOf returns the part after the last dash of an archive's name.
func versionOf(jar string) string {
	return strings.TrimSuffix(jar[strings.LastIndexByte(jar, '-')+1:], ".jar")
}

func TestBadConfigs(t *testing.T) {
	for say, conf := range map[string]Config{
		"state directory": {},
		"heap of -1 MiB":  {Dir: t.TempDir(), HeapMiB: -1},
	} {
		if _, err := StartKafka(t.Context(), conf); err == nil ||
			!strings.Contains(err.Error(), say) ||
			!strings.HasPrefix(err.Error(), "starting Kafka: ") {
			t.Errorf("got %v, want an error with %q", err, say)
		}
	}
}
