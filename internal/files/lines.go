package files

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxLine is the length of a line of ReadJSONLines at most, in bytes.
const maxLine = 1 << 20

// ReadJSONLines reads a file that has a JSON value in each line, of 1 MiB at most. A missing file
// has none. The error of a line that is not such a value names the file and the line.
func ReadJSONLines[T any](path string) ([]T, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []T
	in := bufio.NewScanner(bytes.NewReader(data))
	in.Buffer(nil, maxLine)
	for line := 1; in.Scan(); line++ {
		var v T
		if err := json.Unmarshal(in.Bytes(), &v); err != nil {
			return nil, fmt.Errorf(
				"%s:%d: %w; mend the line, or remove it",
				filepath.Base(path),
				line,
				err,
			)
		}
		out = append(out, v)
	}
	return out, in.Err()
}
