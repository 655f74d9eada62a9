package catalog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/schema/catalog"
	"github.com/snowkey-go/snowkey/test/internal/catalogtest"
	"github.com/snowkey-go/snowkey/test/internal/reuse"
)

// These schemas are like those of well-known applications. The first column of each table
// is its key, and the rest are narrow. Every column that holds a key must be listed, along
// with the key whose name fits best; a question mark stands for none.
var schemas = []struct{ name, tables, want string }{
	{
		"osTicket",
		`ost_user id org_id; ost_user_email id user_id; ost_organization id; ost_staff staff_id dept_id; ost_department id pid;
			ost_ticket ticket_id user_id user_email_id status_id staff_id number lastupdate; ost_ticket_status id sort;
			ost_thread id object_id object_type:varchar(1); ost_thread_entry id pid thread_id; ost_form_entry id form_id; ost_form id; ost_form_entry_values value_id entry_id`,
		`ost_department.pid=ost_department.id ost_form_entry.form_id=ost_form.id ost_form_entry_values.entry_id=ost_form_entry.id ost_staff.dept_id=?
			ost_thread.object_id=? ost_thread_entry.pid=ost_thread_entry.id ost_thread_entry.thread_id=ost_thread.id ost_ticket.staff_id=ost_staff.staff_id
			ost_ticket.status_id=ost_ticket_status.id ost_ticket.user_email_id=ost_user_email.id ost_ticket.user_id=ost_user.id ost_user.org_id=? ost_user_email.user_id=ost_user.id`,
	},
	{
		"WordPress",
		`wp_users ID user_status; wp_posts ID post_parent menu_order; wp_comments comment_ID comment_post_ID comment_parent comment_karma;
			wp_usermeta umeta_id user_id; wp_terms term_id term_group; wp_term_taxonomy term_taxonomy_id term_id parent count`,
		`wp_comments.comment_parent=wp_comments.comment_ID wp_comments.comment_post_ID=wp_posts.ID wp_posts.post_parent=wp_posts.ID
			wp_term_taxonomy.parent=wp_term_taxonomy.term_taxonomy_id wp_term_taxonomy.term_id=wp_terms.term_id wp_usermeta.user_id=wp_users.ID`,
	},
	{
		"Matomo",
		`log_action idaction hash; log_visit idvisit idsite visit_total_time; log_link_visit_action idlink_va idvisit idaction_url idaction_url_ref idaction_name time_spent; site idsite`,
		`log_link_visit_action.idaction_name=log_action.idaction log_link_visit_action.idaction_url=log_action.idaction
			log_link_visit_action.idaction_url_ref=log_action.idaction log_link_visit_action.idvisit=log_visit.idvisit log_visit.idsite=site.idsite`,
	},
	{
		"Moodle and PrestaShop",
		`mdl_user id suspended; mdl_forum_posts id userid parent privatereplyto; ps_customer id_customer birthday; ps_address id_address id_customer;
			ps_orders id_order id_customer id_address_delivery reference_no; ps_cart id_cart_total id_fee`,
		`mdl_forum_posts.parent=mdl_forum_posts.id mdl_forum_posts.userid=mdl_user.id ps_address.id_customer=ps_customer.id_customer
			ps_cart.id_fee=? ps_orders.id_address_delivery=ps_address.id_address ps_orders.id_customer=ps_customer.id_customer`,
	},
	{
		"PowerDNS and Rails",
		`domains id; records id domain_id secondary_domain_id ttl batch_id; categories category_id parent_category_id; stations id category_id:bigint domain_id:smallint`,
		`categories.parent_category_id=categories.category_id records.batch_id=? records.domain_id=domains.id records.secondary_domain_id=domains.id stations.domain_id=domains.id`,
	},
	{
		"Pterodactyl, AO3 and iNaturalist",
		`nodes id; taxa id; people id; users id; deleted_users id user_id; deleted_photos id; purchase_orders id; purchase_notes id;
			transfers id old_node max_nodes small_node:smallint user_id taxon_id person_id sort_order`,
		`deleted_users.user_id=users.id transfers.old_node=nodes.id transfers.person_id=people.id transfers.taxon_id=taxa.id transfers.user_id=users.id`,
	},
	{
		"phpipam, TestLink, Grocy and Ekylibre",
		`users id authMethod lock_version; usersAuthMethod id; devices id; circuits id device1 device2 location1 md5; locations id; switches id; ipaddresses id switch state paid;
			versions id lock_version; posts id views type lock_version; posts_views id; post_types id; testplans number id qu_id_price users_id_by`,
		`circuits.device1=devices.id circuits.device2=devices.id circuits.location1=locations.id ipaddresses.switch=switches.id posts.type=post_types.id testplans.qu_id_price=? testplans.users_id_by=users.id users.authMethod=usersAuthMethod.id`,
	},
	{
		"camel case, words and arrays",
		`Users Id; Invoices Id UserId createdBy assigned_to total; artist id; recording id artist length; posts id tag_ids:int[] scores:int[] artist_id:varchar(9) long_artist_id:varchar(19) code_id:varchar(9); tags id`,
		`Invoices.UserId=Users.Id Invoices.assigned_to=? Invoices.createdBy=? posts.artist_id=? posts.tag_ids=? recording.artist=artist.id`,
	},
}

func TestLikelyChildren(t *testing.T) {
	t.Parallel()
	for _, dialect := range dbtest.Servers(t) { // every integer of SQLite has 64 bits
		key := map[string]string{"postgres": "serial PRIMARY KEY", "mysql": "INT AUTO_INCREMENT PRIMARY KEY"}[dialect]
		for _, tc := range schemas {
			t.Run(dialect+" "+tc.name, func(t *testing.T) {
				t.Parallel()
				db := reuse.Open(t, dialect)
				conn, q := db.Connect(t), catalogtest.Quote(db)
				for table := range strings.SplitSeq(tc.tables, ";") {
					fields := strings.Fields(table)
					columns := []string{q(fields[1]) + " " + key}
					for _, field := range fields[2:] {
						name, kind, _ := strings.Cut(field+":int", ":")
						if kind, _, _ = strings.Cut(kind, ":"); kind == "int[]" && dialect != "postgres" {
							kind = "json"
						}
						columns = append(columns, q(name)+" "+kind)
					}
					dbtest.Exec(t, conn, fmt.Sprintf("CREATE TABLE %s (%s)", q(fields[0]), strings.Join(columns, ", ")))
				}
				want := strings.Fields(tc.want)
				if dialect != "postgres" {
					want = slices.DeleteFunc(want, func(w string) bool { return strings.HasPrefix(w, "posts.tag_ids") })
				}
				report := catalogtest.Inspect(t, conn, catalog.Options{})
				if got := likely(report); !slices.Equal(got, want) {
					t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				if got := text(t, report); !strings.Contains(got, "its name fits, and it has no rows to compare") {
					t.Errorf("got\n%s", got)
				}
			})
		}
	}
}

// likely returns the findings of likely children as child=parent, in order.
func likely(report catalog.Report) (all []string) {
	add := func(findings []catalog.Finding, of string) {
		for _, f := range findings {
			if f.Kind == catalog.LikelyChild {
				all = append(all, f.Column.Table.Name+"."+f.Column.Name+"="+of)
			}
		}
	}
	add(report.Findings, "?")
	for _, k := range report.Keys {
		add(k.Findings, k.Column.Table.Name+"."+k.Column.Name)
	}
	slices.Sort(all)
	return all
}

// The newest rows decide between keys whose names fit equally well, and are described
// otherwise. Not even rows that are no keys at all take a column off the list.
func TestLikelyChildrenRows(t *testing.T) {
	t.Parallel()
	for _, dialect := range dbtest.Servers(t) {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			db := reuse.Open(t, dialect)
			conn := db.Connect(t)
			key := map[string]string{"postgres": "serial PRIMARY KEY", "mysql": "INT AUTO_INCREMENT PRIMARY KEY"}[dialect]
			dbtest.Exec(t, conn, "CREATE TABLE old_user (id "+key+")", "CREATE TABLE new_user (id "+key+")",
				"CREATE TABLE audit (id "+key+", user_id int, item_id int, item_type char(1), gone_id int, zero_id int)",
				"INSERT INTO old_user VALUES (1), (2)", "INSERT INTO new_user VALUES (100001), (100002)")
			// More than a sample of old rows, and then the newest ones.
			dbtest.Exec(t, conn, "INSERT INTO audit (user_id, item_id, item_type, gone_id, zero_id) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT 1, 7, 'T', 4, 0 FROM n")
			for range 4 {
				dbtest.Exec(t, conn, "INSERT INTO audit (user_id, item_id, item_type, gone_id, zero_id) SELECT user_id, item_id, item_type, gone_id, zero_id FROM audit")
			}
			dbtest.Exec(t, conn, "INSERT INTO audit (user_id, item_id, item_type, gone_id, zero_id) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) SELECT 100001 + MOD(i, 3), 8, 'A', 5, 0 FROM n")
			for range 4 {
				dbtest.Exec(t, conn, "INSERT INTO audit (user_id, item_id, item_type, gone_id, zero_id) SELECT user_id, item_id, item_type, gone_id, zero_id FROM audit WHERE user_id > 100000")
			}
			report := catalogtest.Inspect(t, conn, catalog.Options{})
			if got, want := strings.Join(likely(report), " "), "audit.gone_id=? audit.item_id=? audit.user_id=new_user.id audit.zero_id=?"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			got := text(t, report)
			for _, want := range []string{
				"6667 of its 10000 newest values are keys there", `says whose keys they are: "A"` + "\n", "newest values are between 5 and 5", "and it has no rows",
				"--child " + catalogtest.Key(t, report, "audit").Column.Table.Schema + ".audit.gone_id makes it wide, whichever key it holds, and --not-child ",
			} {
				want = strings.ReplaceAll(want, "\n", " [likely-child]")
				if !strings.Contains(got, want) {
					t.Errorf("%q is not in\n%s", want, got)
				}
			}
		})
	}
}
