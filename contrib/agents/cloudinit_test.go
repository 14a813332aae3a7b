package agents_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

// schema compiles cloud-init's own schema of user data, which scripts/setup.sh takes from the
// package of Debian.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	file, err := os.Open(tool(t, "cloud-config.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	doc, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("cloud-config.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("cloud-config.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// invalid returns the schema's complaint about user data.
func invalid(s *jsonschema.Schema, text []byte) error {
	if !bytes.HasPrefix(text, []byte("#cloud-config\n")) {
		return fmt.Errorf("user data begin with #cloud-config, not with %.20q", text)
	}
	data, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return s.Validate(doc)
}

func TestCloudInit(t *testing.T) {
	s := schema(t)
	for _, name := range []string{"cloud-init/agent.yaml", "../cloud-init.yaml"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := invalid(s, b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	b, err := os.ReadFile("cloud-init/agent.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, edit := range map[string][2]string{
		"no first line":      {"#cloud-config\n", "# cloud-config\n"},
		"a command list":     {"runcmd:\n  - [/usr/local/sbin/plimsoll-install]", "runcmd: /usr/local/sbin/plimsoll-install"},
		"mode as a number":   {"permissions: '0600'", "permissions: 600"},
		"a file without way": {"- path: /etc/plimsoll/agent.nk\n    permissions", "- permissions"},
		"a key twice":        {"package_update: true\n", "package_update: true\npackage_update: false\n"},
	} {
		broken := strings.Replace(string(b), edit[0], edit[1], 1)
		if broken == string(b) {
			t.Fatalf("%s: the user data have no %q", name, edit[0])
		}
		if invalid(s, []byte(broken)) == nil {
			t.Errorf("%s: the schema accepts it", name)
		}
	}
}
