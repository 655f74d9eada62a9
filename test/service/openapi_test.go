package service_test

import (
	"os/exec"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// A validator accepts the OpenAPI document. npx fetches it, so the test needs npm's registry
// the first time.
func TestOpenAPIDocument(t *testing.T) {
	dbtest.Programs(t, "nodejs npm", "npx")
	cmd := exec.CommandContext(t.Context(), "npx", "--yes", "@redocly/cli@1.34.3", "lint", "--extends=recommended", "../../service/openapi.yaml")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
