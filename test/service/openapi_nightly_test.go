//go:build nightly

package service_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// A validator accepts the OpenAPI document.
func TestNightlyOpenAPIDocument(t *testing.T) {
	redocly := filepath.Join(dbtest.NPMFolder(t, "@redocly/cli@1.34.3"), "../../.bin/redocly")
	cmd := exec.CommandContext(t.Context(), redocly, "lint", "--extends=recommended", "../../service/openapi.yaml")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
