//go:build nightly

package vet

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A source is a folder with a module, in a commit of a repository on GitHub.
type source struct{ repository, commit, folder string }

// services are public programs that were moved to generated keys by hand, with places that
// broke: the end of a file's name, and the rule that finds it. Counts are minimums, because
// the programs change.
var services = []struct {
	source
	places map[string]int
}{
	{source{"gotify/server", "d543a8aad22fcbebf25e76d201b4317882b5e148", ""}, map[string]int{
		"api/message.go jsonnumber": 3, "api/session.go jsonnumber": 2, "api/plugin.go jsonnumber": 1, "plugin/messagehandler.go jsonnumber": 1,
		"api/internalutil.go narrow": 2, "model/user.go column": 1, "model/message.go column": 1, "model/application.go column": 1,
		"database/message.go order": 6, "api/message_test.go literal": 1,
	}},
	{source{"miniflux/v2", "106cdd09e1557222303f3ed1376e1dadf0638621", ""}, map[string]int{
		"storage/user.go insert": 2, "storage/feed.go insert": 1, "storage/entry.go insert": 1, "storage/category.go insert": 1, "storage/icon.go insert": 1,
		"storage/enclosure.go insert": 1, "storage/api_key.go insert": 1, "model/entry.go jsonnumber": 3, "model/feed.go jsonnumber": 2,
		"fever/response.go jsonnumber": 6, "fever/handler.go narrow": 1, "googlereader/item.go keytext": 1, "database/migrations.go column": 2,
	}},
	{source{"apache/answer", "f7731bc675930f9cb9fa7a6f6346c102246b2c4d", ""}, map[string]int{
		"activity/vote_repo.go insert": 1, "activity/follow_repo.go insert": 1, "collection/collection_group_repo.go insert": 3, "meta/meta_repo.go insert": 2,
		"notification/notification_repo.go insert": 1, "review/review_repo.go insert": 1, "revision/revision_repo.go insert": 1,
		"site_info/siteinfo_repo.go insert": 1, "tag/tag_rel_repo.go insert": 1, "unique/uniqid_repo.go insert": 1, "unique/uniqid_repo.go keytext": 1,
		"user/user_repo.go insert": 1, "user_external_login/user_external_login_repo.go insert": 1, "migrations/init.go insert": 15,
		"entity/config_entity.go column": 1, "entity/role_power_rel_entity.go column": 2, "migrations/v15.go column": 1,
	}},
	{source{"mikestefanello/pagoda", "02a6db2795efa887383e0e6591acaacccecd51bb", ""}, map[string]int{
		"services/auth.go boxed": 2, "handlers/admin.go boxed": 2, "handlers/admin.go narrow": 1, "middleware/auth.go narrow": 1, "middleware/entity.go narrow": 1,
	}},
	{source{"muety/wakapi", "ff1e7b430aea8677d1f44c3ba20d87dfe92fe668", ""}, map[string]int{
		"models/leaderboard.go column": 1, "models/summary.go column": 2, "models/duration.go column": 1, "routes/settings.go narrow": 1,
		"models/project_label.go jsonnumber": 1, "models/language_mapping.go jsonnumber": 1,
		"migrations/20211215_migrate_id_to_bigint.go column": 2, "migrations/20221002_fix_summary_id_types.go column": 2,
	}},
	{source{"flipped-aurora/gin-vue-admin", "02f37833255e0e339c3d69199cb5a468f17de9fc", "server"}, map[string]int{
		"v1/system/sys_dictionary_detail.go narrow": 2, "mcp/org_common.go narrow": 2, "media/media_upload.go narrow": 2, "global/model.go jsonnumber": 1,
		"system/sys_user.go jsonnumber": 2, "system/sys_department.go jsonnumber": 2, "source/system/user.go literal": 1,
	}},
	{source{"woodpecker-ci/woodpecker", "a4cb541b82dea1967d5b5577ff80a472b349afb2", ""}, map[string]int{
		"model/agent.go column": 1, "model/config.go column": 1, "model/cron.go column": 1, "model/forge.go column": 1, "model/log.go column": 1,
		"model/org.go column": 1, "model/pipeline.go column": 1, "model/redirection.go column": 1, "model/registry.go column": 1, "model/repo.go column": 1,
		"model/secret.go column": 1, "model/step.go column": 1, "model/user.go column": 1, "model/workflow.go column": 1,
		"model/agent.go jsonnumber": 1, "model/cron.go jsonnumber": 1, "model/forge.go jsonnumber": 1, "model/log.go jsonnumber": 1,
		"model/org.go jsonnumber": 1, "model/pipeline.go jsonnumber": 1, "model/registry.go jsonnumber": 1, "model/repo.go jsonnumber": 1,
		"model/secret.go jsonnumber": 1, "model/step.go jsonnumber": 1, "model/user.go jsonnumber": 1, "model/workflow.go jsonnumber": 1,
		"datastore/agent.go insert": 1, "datastore/config.go insert": 2, "datastore/cron.go insert": 1, "datastore/forge.go insert": 1,
		"datastore/log.go insert": 1, "datastore/org.go insert": 1, "datastore/pipeline.go insert": 2, "datastore/redirection.go insert": 1,
		"datastore/registry.go insert": 1, "datastore/repo.go insert": 1, "datastore/secret.go insert": 1, "datastore/step.go insert": 1,
		"datastore/user.go insert": 1, "datastore/workflow.go insert": 1, "migration/001_add_org_id.go insert": 1,
	}},
	{source{"autobrr/autobrr", "489d8ddf9bb3c1c0e62b8c78f8535408f78131ca", ""}, map[string]int{
		"database/action.go insert": 2, "database/filter.go insert": 2, "database/irc.go insert": 3, "database/release.go insert": 4, "database/user.go insert": 1,
		"database/feed.go insert": 1, "database/list.go insert": 1, "database/indexer.go insert": 1, "database/notification.go insert": 1,
		"database/proxy.go insert": 1, "database/download_client.go insert": 1, "database/action.go narrow": 2, "database/list.go narrow": 2,
		"domain/action.go column": 2,
	}},
}

// checkout returns the folder of a source in a checkout, which it fetches into the user's cache if
// it isn't there. If GitHub is out of reach, the test is skipped.
func (s source) checkout(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "snowkey", "checkouts", strings.ReplaceAll(s.repository, "/", "-")+"-"+s.commit[:12])
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	git := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_TERMINAL_PROMPT=0")
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(string(out)), err
	}
	if out, err := git("init", "--quiet"); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	if head, err := git("rev-parse", "HEAD"); err != nil || head != s.commit {
		url := "https://github.com/" + s.repository
		if out, err := git("ls-remote", url, "HEAD"); err != nil {
			t.Skipf("%s is out of reach: %v: %s", url, err, out)
		}
		if out, err := git("fetch", "--quiet", "--depth=1", url, s.commit); err != nil {
			t.Fatalf("git fetch %s: %v: %s", url, err, out)
		}
		if out, err := git("checkout", "--quiet", "--force", s.commit); err != nil {
			t.Fatalf("git checkout: %v: %s", err, out)
		}
	}
	return filepath.Join(dir, s.folder)
}

// vet returns what is found in a source.
func (s source) vet(t *testing.T) []Finding {
	t.Helper()
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "-mod=mod -tags=test") // GORM's tests have no go.sum; woodpecker's tests have a tag
	findings, err := Run(t.Context(), Options{Dir: s.checkout(t)})
	if err != nil {
		t.Fatal(err)
	}
	return findings
}

func TestServices(t *testing.T) {
	for _, s := range services {
		t.Run(s.repository, func(t *testing.T) {
			findings := s.vet(t)
			total := make(map[string]int)
			for _, f := range findings {
				total[f.Rule+" "+f.Category]++
			}
			places, found := 0, 0
			for place, want := range s.places {
				got := 0
				for _, f := range findings {
					if f.isAt(place) {
						got++
					}
				}
				if places, found = places+want, found+min(got, want); got < want {
					t.Logf("%s: %d findings, want %d", place, got, want)
				}
			}
			t.Logf("%d of %d places; all findings: %v", found, places, total)
			if found*10 < places*9 {
				t.Errorf("%d of %d places are found; want 9 of 10", found, places)
			}
		})
	}
}

// isAt reports whether a finding is at a place such as "api/message.go jsonnumber".
func (f Finding) isAt(place string) bool {
	file, rule, _ := strings.Cut(place, " ")
	return f.Rule == rule && strings.HasSuffix(filepath.ToSlash(f.Position.Filename), "/"+file)
}

// suites are the tests of ORMs, which have no faults. As the tests of most services do, they
// expect the keys 1, 2 and 3, which the rule literal says in one hint for each file. There are
// no other findings.
var suites = []struct {
	source
	hints int
}{
	{source{"go-gorm/gorm", "1d6ce99528060be18a42be09aca8d39efcb47f28", "tests"}, 8},
	{source{"ent/ent", "0a61da2fa2b4b80fbf5c8c58e1b491b7d5d9b4d6", "entc/integration"}, 2},
	{source{"uptrace/bun", "0e5e8682686253e24add0e8512d351d5e32dd9bf", "internal/dbtest"}, 6},
}

func TestSuites(t *testing.T) {
	for _, s := range suites {
		t.Run(s.repository, func(t *testing.T) {
			hints := 0
			for _, f := range s.vet(t) {
				if f.Rule == "literal" && f.Category == Hint {
					hints++
				} else {
					t.Errorf("%s: %s [%s]", f.Position, f.Text, f.Rule)
				}
			}
			if hints != s.hints {
				t.Errorf("%d test files have literal keys, want %d", hints, s.hints)
			}
		})
	}
}
