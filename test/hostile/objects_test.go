package hostile

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// These tables are created by sqlstore.
const leaseTable, namespaceTable = "snowkey_lease", "snowkey_lease_ns"

// An object is something in the database that changes the effect of statements on a
// table of leases.
type object struct {
	name       string
	table      string
	statements []string
	names      string // parts of the error of Open, which also names the table
	want       outcome
}

var postgresObjects = []object{
	{"BEFORE UPDATE trigger that lowers the bound", leaseTable, []string{
		"CREATE FUNCTION lower_bound() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.bound := OLD.bound; RETURN NEW; END $$",
		"CREATE TRIGGER hostile_before BEFORE UPDATE ON snowkey_lease FOR EACH ROW EXECUTE FUNCTION lower_bound()",
	}, "trigger, hostile_before", refused},
	{"AFTER UPDATE trigger that lowers the bound", leaseTable, []string{
		`CREATE FUNCTION lower_bound() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF pg_trigger_depth() = 1 THEN
				UPDATE snowkey_lease SET bound = OLD.bound WHERE namespace = NEW.namespace AND layout = NEW.layout AND worker = NEW.worker;
			END IF;
			RETURN NULL;
		END $$`,
		"CREATE TRIGGER hostile_after AFTER UPDATE ON snowkey_lease FOR EACH ROW EXECUTE FUNCTION lower_bound()",
	}, "trigger, hostile_after", refused},
	{"trigger that is always enabled", namespaceTable, []string{
		"CREATE FUNCTION no_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN OLD; END $$",
		"CREATE TRIGGER hostile_always BEFORE UPDATE ON snowkey_lease_ns FOR EACH ROW EXECUTE FUNCTION no_change()",
		"ALTER TABLE snowkey_lease_ns ENABLE ALWAYS TRIGGER hostile_always",
	}, "trigger, hostile_always", refused},
	{"rule", leaseTable, []string{
		"CREATE RULE hostile_rule AS ON UPDATE TO snowkey_lease DO ALSO UPDATE snowkey_lease_ns SET namespace = namespace",
	}, "rule, hostile_rule", refused},
	{"rule instead of updates", namespaceTable, []string{
		"CREATE RULE hostile_rule AS ON UPDATE TO snowkey_lease_ns DO INSTEAD NOTHING",
	}, "rule, hostile_rule", refused},
	{"row-level security, forced on its owner", leaseTable, []string{
		"ALTER TABLE snowkey_lease OWNER TO {role}",
		"ALTER TABLE snowkey_lease_ns OWNER TO {role}",
		"ALTER TABLE snowkey_lease ENABLE ROW LEVEL SECURITY",
		"ALTER TABLE snowkey_lease FORCE ROW LEVEL SECURITY",
	}, "row-level security", refused},
	{"row-level security, forced on its owner", namespaceTable, []string{
		"ALTER TABLE snowkey_lease OWNER TO {role}",
		"ALTER TABLE snowkey_lease_ns OWNER TO {role}",
		"ALTER TABLE snowkey_lease_ns ENABLE ROW LEVEL SECURITY",
		"ALTER TABLE snowkey_lease_ns FORCE ROW LEVEL SECURITY",
	}, "row-level security", refused},
	{"row-level security with a policy for reads", leaseTable, []string{
		"GRANT SELECT, INSERT, UPDATE ON snowkey_lease, snowkey_lease_ns TO {role}",
		"ALTER TABLE snowkey_lease ENABLE ROW LEVEL SECURITY",
		"CREATE POLICY readable ON snowkey_lease FOR SELECT USING (true)",
	}, "row-level security", refused},
	{"row-level security, which a superuser bypasses", leaseTable, []string{
		"ALTER TABLE snowkey_lease ENABLE ROW LEVEL SECURITY",
		"ALTER TABLE snowkey_lease FORCE ROW LEVEL SECURITY",
	}, "row-level security", worksOrRefused},
	{"trigger that is disabled", leaseTable, []string{
		"CREATE FUNCTION lower_bound() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.bound := OLD.bound; RETURN NEW; END $$",
		"CREATE TRIGGER hostile_disabled BEFORE UPDATE ON snowkey_lease FOR EACH ROW EXECUTE FUNCTION lower_bound()",
		"ALTER TABLE snowkey_lease DISABLE TRIGGER hostile_disabled",
	}, "trigger, hostile_disabled", worksOrRefused},
}

var mysqlObjects = []object{
	{"BEFORE UPDATE trigger that lowers the bound", leaseTable, []string{
		"CREATE TRIGGER hostile_before BEFORE UPDATE ON snowkey_lease FOR EACH ROW SET NEW.bound = OLD.bound",
	}, "trigger, hostile_before", refused},
	{"AFTER UPDATE trigger", leaseTable, []string{
		"CREATE TABLE of_the_application (n INT)",
		"CREATE TRIGGER hostile_after AFTER UPDATE ON snowkey_lease FOR EACH ROW INSERT INTO of_the_application VALUES (1)",
	}, "trigger, hostile_after", refused},
	{"BEFORE UPDATE trigger", namespaceTable, []string{
		"CREATE TRIGGER hostile_before BEFORE UPDATE ON snowkey_lease_ns FOR EACH ROW SET NEW.fence = OLD.fence",
	}, "trigger, hostile_before", refused},
	{"engine without transactions", leaseTable, []string{
		"ALTER TABLE snowkey_lease DROP PRIMARY KEY, DROP KEY namespace, ADD KEY (worker), ENGINE = MyISAM",
	}, "engine, MyISAM", refused},
}

// test lets a program open a pool although an object in the database changes the effect
// of statements on the tables of leases. The error of Open must name the object.
func (o object) test(t *testing.T, server dbtest.DB) {
	var as session
	role := "hostile_role_" + strings.ToLower(rand.Text()[:12])
	if strings.Contains(strings.Join(o.statements, ""), "{role}") {
		execAll(t, server, "CREATE ROLE "+role)
		t.Cleanup(func() { execAll(t, server, "DROP ROLE "+role) })
		as.init = []string{"SET ROLE " + role}
	}
	db := newDatabase(t, server)
	prepare(t, db)
	for _, statement := range o.statements {
		execAll(t, db, strings.ReplaceAll(statement, "{role}", role))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p := &program{name: "A", dialect: db.Dialect, db: as.connect(t, db)}
	p.run(ctx, p.lasts(0))
	check(t, p)
	row{want: o.want, names: o.names + ", " + o.table}.judge(t, p)
}
