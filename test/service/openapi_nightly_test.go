//go:build nightly

package service_test

import (
	"os/exec"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// A validator accepts the OpenAPI document. npx fetches it, so the test needs npm's registry
// the first time.
func TestNightlyOpenAPIDocument(t *testing.T) {
	npx := dbtest.NPM(t, "@redocly/cli@1.34.3")
	cmd := exec.CommandContext(t.Context(), npx[0], append(npx[1:], "lint", "--extends=recommended", "../../service/openapi.yaml")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
