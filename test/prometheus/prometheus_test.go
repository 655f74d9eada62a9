// Package prometheus uses a real Prometheus to test the metrics, alerts and dashboard
// of snowkeyprom.
package prometheus

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/snowkey-go/snowkey"
	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/lease/filestore"
	"github.com/snowkey-go/snowkey/metrics/snowkeyprom"
)

const folder = "../../metrics/snowkeyprom/"

var write = flag.Bool("write", false, "write prometheusrule.yml")

// The manifest for the Prometheus Operator must have the same rules as alerts.yml.
func TestManifest(t *testing.T) {
	_, groups, ok := strings.Cut(string(dbtest.Must(os.ReadFile(folder+"alerts.yml"))(t)), "\ngroups:\n")
	if !ok {
		t.Fatal("alerts.yml has no groups")
	}
	var b strings.Builder
	b.WriteString("# The rules of alerts.yml for the Prometheus Operator.\n# go test ./test/prometheus -run Manifest -args -write makes it.\n" +
		"apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n  name: snowkey\nspec:\n  groups:\n")
	for line := range strings.Lines(groups) {
		b.WriteString("  " + line)
	}
	if *write {
		dbtest.NoError(t, os.WriteFile(folder+"prometheusrule.yml", []byte(b.String()), 0o644))
	}
	manifest, err := os.ReadFile(folder + "prometheusrule.yml")
	if err != nil || string(manifest) != b.String() {
		t.Errorf("prometheusrule.yml does not have the rules of alerts.yml (%v); run go test ./test/prometheus -run Manifest -args -write", err)
	}
}

// Each alert must fire when it should, but not before.
func TestAlerts(t *testing.T) {
	t.Parallel()
	promtool := dbtest.Program(t, "prometheus", "promtool")
	path := dbtest.Must(filepath.Abs(folder + "alerts.yml"))(t)
	text := dbtest.Must(os.ReadFile("testdata/alerts_test.yml"))(t)
	tests := filepath.Join(t.TempDir(), "tests.yml")
	dbtest.NoError(t, os.WriteFile(tests, []byte(strings.ReplaceAll(string(text), "alerts.yml", path)), 0o644))
	for _, args := range [][]string{{"check", "rules", path}, {"test", "rules", tests}} {
		if out, err := exec.Command(promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", args, err, out)
		}
	}
	rules := dbtest.Must(os.ReadFile(path))(t)
	for line := range strings.Lines(string(rules)) {
		if _, name, ok := strings.Cut(strings.TrimSpace(line), "alert: "); ok && strings.Count(string(text), "alertname: "+name) < 2 {
			t.Errorf("%s is not tested: it needs a time at which it fires, and one at which it does not", name)
		}
	}
}

// If a Prometheus scrapes a leased pool, there must be series for each of the
// dashboard's queries.
func TestDashboard(t *testing.T) {
	t.Parallel()
	ids := dbtest.Must(snowkey.Open(t.Context(), filestore.Dir(t.TempDir()), snowkey.Config{Window: time.Second, MaxClockSkew: 10 * time.Millisecond}))(t)
	defer ids.Close(t.Context())
	registry := prometheus.NewRegistry()
	registry.MustRegister(snowkeyprom.NewCollector(ids))
	target := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	defer target.Close()
	api := serve(t, strings.TrimPrefix(target.URL, "http://"))

	text := dbtest.Must(os.ReadFile(folder + "dashboard.json"))(t)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil || len(dashboard.Panels) < 8 {
		t.Fatalf("dashboard.json: %v, %d panels", err, len(dashboard.Panels))
	}
	deadline := time.Now().Add(time.Minute)
	for _, p := range dashboard.Panels {
		if len(p.Targets) == 0 {
			t.Errorf("%s has no query", p.Title)
		}
		for _, q := range p.Targets {
			expr := strings.ReplaceAll(q.Expr, "$__rate_interval", "5s")
			for n, answer := 0, ""; n == 0; time.Sleep(100 * time.Millisecond) {
				if n, answer = query(t, api, expr); n == 0 && time.Now().After(deadline) {
					t.Errorf("%s: %s has no series: %s", p.Title, q.Expr, answer)
					break
				}
				dbtest.Must(ids.Next(t.Context()))(t)
			}
		}
	}
}

// serve starts a Prometheus that scrapes the target. It returns the address of its API.
func serve(t *testing.T, target string) string {
	t.Helper()
	rules := string(dbtest.Must(os.ReadFile(folder + "alerts.yml"))(t))
	config := fmt.Sprintf("global: {scrape_interval: 200ms, evaluation_interval: 1s}\nrule_files: [alerts.yml]\nscrape_configs:\n- job_name: snowkey\n  static_configs: [{targets: [%q]}]\n", target)
	return "http://" + dbtest.Service{
		Name: "prometheus", Programs: []string{"prometheus"}, Packages: "prometheus", Account: "prometheus",
		Serve: func(command []string, dir string, port int) []string {
			command = append(command, "--config.file="+dir+"/prometheus.yml", "--storage.tsdb.path="+dir, fmt.Sprint("--web.listen-address=127.0.0.1:", port))
			return dbtest.WithFile(dir+"/alerts.yml", rules, dbtest.WithFile(dir+"/prometheus.yml", config, command...)...)
		},
		Answers: func(_ context.Context, address string) error {
			answer, err := http.Get("http://" + address + "/-/ready")
			if err != nil {
				return err
			}
			defer answer.Body.Close()
			if answer.StatusCode != http.StatusOK {
				return errors.New(answer.Status)
			}
			return nil
		},
	}.Start(t).Address
}

// query returns the number of series that match the query, and the complete response.
func query(t *testing.T, api, expr string) (n int, body string) {
	t.Helper()
	answer := dbtest.Must(http.Get(api + "/api/v1/query?query=" + url.QueryEscape(expr)))(t)
	defer answer.Body.Close()
	var result struct {
		Status, Error string
		Data          struct{ Result []json.RawMessage }
	}
	if err := json.NewDecoder(answer.Body).Decode(&result); err != nil || result.Status != "success" {
		t.Fatalf("%s: %v, %s", expr, err, result.Error)
	}
	return len(result.Data.Result), fmt.Sprintf("%+v", result)
}
