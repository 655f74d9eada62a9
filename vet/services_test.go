//go:build nightly

package vet

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// services are public programs that were moved to generated keys by hand, with places that
// broke: the end of a file's name, and the rule that finds it. Counts are minimums, because
// the programs change.
var services = []struct {
	folder string
	places map[string]int
}{
	{"gotify", map[string]int{
		"api/message.go jsonnumber": 3, "api/session.go jsonnumber": 2, "api/plugin.go jsonnumber": 1, "plugin/messagehandler.go jsonnumber": 1,
		"api/internalutil.go narrow": 2, "model/user.go column": 1, "model/message.go column": 1, "model/application.go column": 1,
		"database/message.go order": 6, "api/message_test.go literal": 1,
	}},
	{"miniflux", map[string]int{
		"storage/user.go insert": 2, "storage/feed.go insert": 1, "storage/entry.go insert": 1, "storage/category.go insert": 1, "storage/icon.go insert": 1,
		"storage/enclosure.go insert": 1, "storage/api_key.go insert": 1, "model/entry.go jsonnumber": 3, "model/feed.go jsonnumber": 2,
		"fever/response.go jsonnumber": 6, "fever/handler.go narrow": 1, "googlereader/item.go keytext": 1, "database/migrations.go column": 2,
	}},
	{"answer", map[string]int{
		"activity/vote_repo.go insert": 1, "activity/follow_repo.go insert": 1, "collection/collection_group_repo.go insert": 3, "meta/meta_repo.go insert": 2,
		"notification/notification_repo.go insert": 1, "review/review_repo.go insert": 1, "revision/revision_repo.go insert": 1,
		"site_info/siteinfo_repo.go insert": 1, "tag/tag_rel_repo.go insert": 1, "unique/uniqid_repo.go insert": 1, "unique/uniqid_repo.go keytext": 1,
		"user/user_repo.go insert": 1, "user_external_login/user_external_login_repo.go insert": 1, "migrations/init.go insert": 15,
		"entity/config_entity.go column": 1, "entity/role_power_rel_entity.go column": 2, "migrations/v15.go column": 1,
	}},
	{"pagoda", map[string]int{
		"services/auth.go boxed": 2, "handlers/admin.go boxed": 2, "handlers/admin.go narrow": 1, "middleware/auth.go narrow": 1, "middleware/entity.go narrow": 1,
	}},
	{"gin-vue-admin/server", map[string]int{
		"v1/system/sys_dictionary_detail.go narrow": 2, "mcp/org_common.go narrow": 2, "media/media_upload.go narrow": 2, "global/model.go jsonnumber": 1,
		"system/sys_user.go jsonnumber": 2, "system/sys_department.go jsonnumber": 2, "source/system/user.go literal": 1,
	}},
	{"autobrr", map[string]int{
		"database/action.go insert": 2, "database/filter.go insert": 2, "database/irc.go insert": 3, "database/release.go insert": 4, "database/user.go insert": 1,
		"database/feed.go insert": 1, "database/list.go insert": 1, "database/indexer.go insert": 1, "database/notification.go insert": 1,
		"database/proxy.go insert": 1, "database/download_client.go insert": 1, "database/action.go narrow": 2, "database/list.go narrow": 2,
		"domain/action.go column": 2,
	}},
}

// The folder VET_SRC has checkouts, each in a folder of the table. Those that are missing are
// left out.
func TestServices(t *testing.T) {
	source := os.Getenv("VET_SRC")
	if source == "" {
		t.Skip("VET_SRC is not set; set it to a folder with checkouts of the services")
	}
	for _, s := range services {
		t.Run(s.folder, func(t *testing.T) {
			dir := filepath.Join(source, s.folder)
			if _, err := os.Stat(dir); err != nil {
				t.Skip("there is no checkout in ", dir)
			}
			t.Setenv("GOWORK", "off")
			findings, err := Run(t.Context(), Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			total := make(map[string]int)
			places, found := 0, 0
			for place, want := range s.places {
				got := 0
				file, rule, _ := strings.Cut(place, " ")
				for _, f := range findings {
					if f.Rule == rule && strings.HasSuffix(filepath.ToSlash(f.Position.Filename), "/"+file) {
						got++
					}
				}
				if places, found = places+want, found+min(got, want); got < want {
					t.Logf("%s: %d findings, want %d", place, got, want)
				}
			}
			for _, f := range findings {
				total[f.Rule+" "+f.Category]++
			}
			t.Log(fmt.Sprint(found, " of ", places, " places; all findings: ", total))
			if found*10 < places*9 {
				t.Errorf("%d of %d places are found; want 9 of 10", found, places)
			}
		})
	}
}
