// Package kubernetes checks the manifests of the examples.
package kubernetes

import (
	"os"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func TestManifests(t *testing.T) {
	job, deployment, service := decode(t, "../../examples/production/kubernetes.yaml")
	leads(t, service, deployment)
	if got := deployment.Spec.Selector.MatchLabels; matches(got, job.Spec.Template.Labels) {
		t.Errorf("the deployment selects the job: %v", got)
	}
	if job.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
		t.Error("the job is not repeated")
	}
}

// leads fails the test unless the service leads to the deployment, which Kubernetes probes.
func leads(t *testing.T, service corev1.Service, deployment appsv1.Deployment) {
	t.Helper()
	pod := deployment.Spec.Template
	if !matches(deployment.Spec.Selector.MatchLabels, pod.Labels) || !matches(service.Spec.Selector, pod.Labels) {
		t.Errorf("they select %v and %v", deployment.Spec.Selector.MatchLabels, service.Spec.Selector)
	}
	server := pod.Spec.Containers[0]
	port := server.Ports[0].Name
	if got := service.Spec.Ports[0].TargetPort.StrVal; got != port {
		t.Errorf("the service leads to the port %q, want %q", got, port)
	}
	for path, probe := range map[string]*corev1.Probe{"/livez": server.LivenessProbe, "/readyz": server.ReadinessProbe} {
		if probe.HTTPGet.Path != path || probe.HTTPGet.Port.StrVal != port {
			t.Errorf("the probe of %s asks %+v", path, probe.HTTPGet)
		}
	}
}

func decode(t *testing.T, file string) (job batchv1.Job, deployment appsv1.Deployment, service corev1.Service) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var kind struct{ Kind string }
		if err := yaml.Unmarshal([]byte(document), &kind); err != nil {
			t.Fatal(err)
		}
		into, ok := map[string]any{"Job": &job, "Deployment": &deployment, "Service": &service}[kind.Kind]
		if !ok {
			t.Fatalf("a %s", kind.Kind)
		}
		if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
			t.Errorf("%s: %v", kind.Kind, err)
		}
	}
	return job, deployment, service
}

// matches reports whether labels has everything that the selector asks for.
func matches(selector, labels map[string]string) bool {
	for name, value := range selector {
		if labels[name] != value {
			return false
		}
	}
	return len(selector) > 0
}

// The manifests of the id service must not run it as root, and its secret must have the mode
// that serve accepts.
func TestManifestsOfServe(t *testing.T) {
	_, deployment, service := decode(t, "../../examples/production/serve.yaml")
	pod := deployment.Spec.Template
	serve := pod.Spec.Containers[0]
	leads(t, service, deployment)
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
