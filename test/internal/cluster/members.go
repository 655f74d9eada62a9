package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/snowkey-go/snowkey/internal/dbtest"
)

// A Member is a server of a cluster in which each server accepts writes. All members
// have the same database.
type Member struct {
	dbtest.DB
	*dbtest.Server
	command []string // the command line of a member that joins the others
	galera  bool
}

// Galera returns the members of a new Galera cluster of MariaDB servers, with an empty
// database. The cluster ends with the test. If the run has chosen a version of MySQL, the
// test is skipped.
func Galera(t dbtest.TB, size int) []*Member {
	t.Helper()
	if version := dbtest.Version("mysql"); version != "" {
		t.Skipf("SNOWKEY_TEST_DB chooses %s, which leaves MariaDB's Galera out", version)
	}
	var provider string // Galera's library, beside the programs of the system or fetched ones
	dbtest.Obtain(t, "mariadb-server galera-4 rsync", "MariaDB, galera-4 and rsync", func() bool {
		for _, programs := range filepath.SplitList(os.Getenv("PATH")) {
			for _, pattern := range []string{"lib*/galera/libgalera_smm.so", "lib/libgalera_smm.so"} {
				if found, _ := filepath.Glob(filepath.Join(filepath.Dir(programs), pattern)); provider == "" && len(found) > 0 {
					provider = found[0]
				}
			}
		}
		_, err := exec.LookPath("wsrep_sst_rsync")
		_, err2 := exec.LookPath("rsync")
		return cmp.Or(err, err2) == nil && provider != ""
	})
	addresses := freeAddresses(t, size)
	members := make([]*Member, size)
	for i, address := range addresses {
		own := freeAddresses(t, 2)
		members[i] = (&Member{galera: true}).start(t, members[:i], dbtest.Options{},
			"--binlog-format=ROW", "--innodb-autoinc-lock-mode=2",
			"--wsrep-on=ON", "--wsrep-provider="+provider, "--wsrep-cluster-name=snowkey",
			"--wsrep-cluster-address=gcomm://"+strings.Join(addresses, ","),
			fmt.Sprint("--wsrep-node-name=member", i+1), "--wsrep-node-address="+address,
			"--wsrep-sst-method=rsync", "--wsrep-sst-receive-address="+own[0],
			fmt.Sprintf("--wsrep-provider-options=gmcast.listen_addr=tcp://%s;ist.recv_addr=%s;gcache.size=32M", address, own[1]))
	}
	return members
}

// GroupReplication returns the members of a new replication group of MySQL 9 in
// multi-primary mode, with an empty database. The group ends with the test.
func GroupReplication(t dbtest.TB, size int) []*Member {
	t.Helper()
	addresses := freeAddresses(t, size)
	members := make([]*Member, size)
	for i, address := range addresses {
		members[i] = new(Member).start(t, members[:i], dbtest.Options{Version: "mysql9"},
			"--log-bin=bin", fmt.Sprint("--server-id=", i+1), "--gtid-mode=ON", "--enforce-gtid-consistency=ON",
			"--report-host=127.0.0.1", "--group-replication-ip-allowlist=127.0.0.1/24", "--plugin-load-add=group_replication.so",
			"--group-replication-group-name=5a0b0a8e-4d0c-4f9b-9d55-000000000001",
			"--group-replication-local-address="+address, "--group-replication-group-seeds="+strings.Join(addresses, ","),
			"--group-replication-single-primary-mode=OFF", "--group-replication-start-on-boot=OFF",
			"--group-replication-recovery-get-public-key=ON")
	}
	return members
}

// start starts a server, which begins a cluster if there are no others, and joins them
// otherwise.
func (m *Member) start(t dbtest.TB, others []*Member, o dbtest.Options, options ...string) *Member {
	t.Helper()
	o.Command = func(dir string, command []string) []string {
		m.command = append(command, options...)
		script := filepath.Join(dir, "serve") // so that it can be started with other options later
		if err := os.WriteFile(script, m.script(len(others) == 0), 0o644); err != nil {
			t.Fatalf("dbtest: %v", err)
		}
		return []string{"sh", script}
	}
	m.Server = dbtest.StartServer(t, "mysql", o)
	var err error
	if !m.galera {
		err = m.Admin(
			"SET SQL_LOG_BIN = 0", "CREATE USER recovery@'%' IDENTIFIED BY 'recovery'",
			"GRANT REPLICATION SLAVE, CONNECTION_ADMIN, GROUP_REPLICATION_STREAM ON *.* TO recovery@'%'",
			"CHANGE REPLICATION SOURCE TO SOURCE_USER = 'recovery', SOURCE_PASSWORD = 'recovery' FOR CHANNEL 'group_replication_recovery'",
			"RESET BINARY LOGS AND GTIDS")
	}
	if err == nil {
		err = m.await(len(others) == 0)
	}
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	if len(others) == 0 {
		_, m.DB = m.CreateDatabase(t)
	} else {
		m.DB = others[0].At(m.Address)
	}
	return m
}

// Balanced returns a database that connects to random members of a cluster through a proxy.
func Balanced(t dbtest.TB, members []*Member) (dbtest.DB, *dbtest.Proxy) {
	t.Helper()
	db, balancer := members[0].Through(t)
	var all []dbtest.DB
	for _, m := range members {
		all = append(all, m.DB)
	}
	balancer.Lead(all...)
	return db, balancer
}

// Join starts a member that was killed. It joins the others, and gets the commits that it
// lacks from one of them.
func (m *Member) Join() error { return m.again(false) }

// Rejoin waits until a member that runs is a member of its cluster again, from which it
// was cut off.
func (m *Member) Rejoin() error {
	if !m.galera {
		// A member that was expelled has to be started again by the operator.
		if err := m.Admin("STOP GROUP_REPLICATION"); err != nil {
			return err
		}
	}
	return m.await(false)
}

// Bootstrap starts a member that was killed as the only one of a cluster with its state,
// as an operator does if no other member is left. Commits that it lacks are lost.
func (m *Member) Bootstrap() error {
	state := m.File("data/grastate.dat")
	if text, err := os.ReadFile(state); err == nil {
		text = []byte(strings.Replace(string(text), "safe_to_bootstrap: 0", "safe_to_bootstrap: 1", 1))
		if err := os.WriteFile(state, text, 0o644); err != nil {
			return err
		}
	}
	return m.again(true)
}

// Force makes a member continue alone, as an operator does if all others are gone.
func (m *Member) Force() error {
	if m.galera {
		return errors.Join(m.Admin("SET GLOBAL wsrep_provider_options = 'pc.bootstrap=YES'"), m.await(true))
	}
	if err := m.sees("COUNT(*) = 1", " WHERE member_state = 'ONLINE'"); err != nil {
		return err
	}
	force := func(members string) error { // which the server refuses (3724) while it starts or stops the group, or is still forced
		return dbtest.Within(2*time.Minute, func() error { return m.Admin("SET GLOBAL group_replication_force_members = " + members) })
	}
	if err := force("@@group_replication_local_address"); err != nil {
		return err
	}
	if err := m.sees("COUNT(*) = 1", ""); err != nil {
		return err
	}
	return force("''")
}

// sees waits until a condition holds for the member's table of the members of its
// replication group.
func (m *Member) sees(condition, where string) error {
	query := "SELECT IF(" + condition + ", 1, (SELECT 1 UNION SELECT 2)) FROM performance_schema.replication_group_members" + where
	err := dbtest.Within(2*time.Minute, func() error { return m.Admin(query) })
	if err != nil {
		return fmt.Errorf("dbtest: after two minutes, the members%s are not %s: %w; the log ends:\n%s", where, condition, err, m.Log())
	}
	return nil
}

// Isolate cuts a member of a Galera cluster off from the others, but not from its clients.
// [Member.Reach] ends that.
func (m *Member) Isolate() error {
	return m.Admin("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=1'")
}

// Reach lets an isolated member reach the others again. See also [Member.Rejoin].
func (m *Member) Reach() error {
	return m.Admin("SET GLOBAL wsrep_provider_options = 'gmcast.isolate=0'")
}

// Forget makes a killed member of a Galera cluster fetch all data from another member
// when it joins, which is called a state snapshot transfer.
func (m *Member) Forget() error { return os.Remove(m.File("data/grastate.dat")) }

func (m *Member) again(first bool) error {
	if err := os.WriteFile(m.File("serve"), m.script(first), 0o644); err != nil {
		return err
	}
	if err := m.Process.Start(); err != nil {
		return err
	}
	return m.await(first)
}

// await waits until the member accepts statements as a member of its cluster.
func (m *Member) await(first bool) error {
	if m.galera {
		err := dbtest.Within(2*time.Minute, func() error {
			return m.Admin("DO (SELECT COUNT(*) FROM mysql.user)") // fails until the member is synced
		})
		if err != nil {
			return fmt.Errorf("the member does not join its cluster: %w; its log ends:\n%s", err, m.Log())
		}
		return nil
	}
	start := []string{"START GROUP_REPLICATION", "SET GLOBAL group_replication_bootstrap_group = OFF"}
	if first {
		start = append([]string{"SET GLOBAL group_replication_bootstrap_group = ON"}, start...)
	}
	if err := m.Admin(start...); err != nil {
		return fmt.Errorf("%w; its log ends:\n%s", err, m.Log())
	}
	return m.sees("MIN(member_state) = 'ONLINE'", " WHERE member_id = @@server_uuid")
}

// script returns a script that runs the server. For Galera it first recovers the position
// in the cluster's log, as the service of the packages does.
func (m *Member) script(first bool) []byte {
	if !m.galera {
		return []byte("exec " + dbtest.Quote(m.command) + "\n")
	}
	command := dbtest.Quote(m.command)
	if first {
		command += " --wsrep-new-cluster"
	}
	return fmt.Appendf(nil, `at=$(%s --wsrep-recover --log-error= 2>&1 | sed -n 's/.*Recovered position: *//p')
exec %s ${at:+--wsrep-start-position=$at}
`, dbtest.Quote(m.command), command)
}
