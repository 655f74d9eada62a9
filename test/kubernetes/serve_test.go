package kubernetes

import (
	"os"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// The manifests of the id service must not run it as root, and its secret must have the mode
// that serve accepts.
func TestManifestsOfServe(t *testing.T) {
	_, deployment, service := decode(t, "../../examples/production/serve.yaml")
	pod := deployment.Spec.Template
	serve := pod.Spec.Containers[0]
	if !matches(deployment.Spec.Selector.MatchLabels, pod.Labels) || !matches(service.Spec.Selector, pod.Labels) {
		t.Errorf("they select %v and %v", deployment.Spec.Selector.MatchLabels, service.Spec.Selector)
	}
	port := serve.Ports[0].Name
	if got := service.Spec.Ports[0].TargetPort.StrVal; got != port {
		t.Errorf("the service leads to the port %q, want %q", got, port)
	}
	for path, probe := range map[string]*corev1.Probe{"/livez": serve.LivenessProbe, "/readyz": serve.ReadinessProbe} {
		if probe.HTTPGet.Path != path || probe.HTTPGet.Port.StrVal != port {
			t.Errorf("the probe of %s asks %+v", path, probe.HTTPGet)
		}
	}
	secret := pod.Spec.Volumes[0].Secret
	if mode := secret.DefaultMode; mode == nil || *mode&0o007 != 0 {
		t.Errorf("the mode of the secret is %v", mode)
	}
	if c := serve.SecurityContext; !*pod.Spec.SecurityContext.RunAsNonRoot || !*c.ReadOnlyRootFilesystem || *c.AllowPrivilegeEscalation {
		t.Errorf("the container may do %+v", c)
	}
	// Each variable is a flag of serve, apart from SNOWKEY_DSN, which is one of all commands.
	source, err := os.ReadFile("../../cmd/snowkey/serve.go")
	if err != nil {
		t.Fatal(err)
	}
	flags := regexp.MustCompile(`"([a-z-]+)", "`).FindAllStringSubmatch(string(source), -1)
	known := map[string]bool{"SNOWKEY_DSN": true, "SNOWKEY_NAMESPACE": true}
	for _, f := range flags {
		known["SNOWKEY_"+strings.ToUpper(strings.ReplaceAll(f[1], "-", "_"))] = true
	}
	for _, e := range serve.Env {
		if !known[e.Name] {
			t.Errorf("serve has no flag for %s", e.Name)
		}
	}
}
