package dbtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A Member is a server of a cluster in which each server accepts writes. All members
// have the same database.
type Member struct {
	DB
	*Process
	engine  engine
	dsn     string   // of the administrator
	command []string // the command line of a member that joins the others
	galera  bool
	host    *host  // nil if it shares the network of this machine
	schema  string // the name of the database
}

// Galera returns the members of a new Galera cluster of MariaDB servers, with an empty
// database. The cluster ends with the test. If the run has chosen a version of MySQL, the
// test is skipped.
func Galera(t TB, size int) []*Member {
	t.Helper()
	requireWanted(t, "mysql")
	if chosen("mysql") {
		t.Skipf("dbtest: %s_VERSION leaves MariaDB out", mysql.env)
	}
	var provider string
	find := func() bool {
		provider = galeraProvider()
		_, programs := findPrograms([]string{"/usr/bin"}, "wsrep_sst_rsync", "rsync")
		return programs && provider != ""
	}
	if err := obtain("mariadb-server galera-4 rsync", "MariaDB, galera-4 and rsync", find); err != nil {
		missing(t, err)
	}
	e := mysql
	addresses := freeAddresses(t, size)
	members := make([]*Member, size)
	for i, address := range addresses {
		own := freeAddresses(t, 2)
		members[i] = e.member(t, members[:i], true,
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
func GroupReplication(t TB, size int) []*Member { t.Helper(); return groupReplication(t, size, false) }

// SeparateGroup is like [GroupReplication], but each member has a network namespace of its
// own, so that [Member.Isolate] can cut it off. Only root can have them, on Linux.
func SeparateGroup(t TB, size int) []*Member { t.Helper(); return groupReplication(t, size, true) }

func groupReplication(t TB, size int, separate bool) []*Member {
	t.Helper()
	requireWanted(t, "mysql")
	e := mysql
	e.find = func(finder) (installation, bool) {
		in, err := mysql.fetchVersion("9")
		if err != nil {
			missing(t, err)
		}
		return in, true
	}
	e.versions = nil // find already has the version
	addresses := freeAddresses(t, size)
	var network []*host
	if separate {
		network = hosts(t, size)
		for i, h := range network {
			addresses[i] = h.address + ":33061"
		}
	}
	members := make([]*Member, size)
	for i, address := range addresses {
		on := e
		if separate {
			on = network[i].mysql(e)
		}
		ip, _, _ := strings.Cut(address, ":")
		members[i] = on.member(t, members[:i], false,
			"--log-bin=bin", fmt.Sprint("--server-id=", i+1), "--gtid-mode=ON", "--enforce-gtid-consistency=ON",
			"--bind-address="+ip, "--report-host="+ip, "--group-replication-ip-allowlist="+ip+"/24", "--plugin-load-add=group_replication.so", "--plugin-load-add=mysql_clone.so",
			"--group-replication-group-name=5a0b0a8e-4d0c-4f9b-9d55-000000000001",
			"--group-replication-local-address="+address, "--group-replication-group-seeds="+strings.Join(addresses, ","),
			"--group-replication-single-primary-mode=OFF", "--group-replication-start-on-boot=OFF",
			"--group-replication-recovery-get-public-key=ON")
		if separate {
			members[i].host = network[i]
		}
	}
	return members
}

// member starts a server, which founds a cluster if there are no others, and joins them
// otherwise.
func (e engine) member(t TB, others []*Member, galera bool, options ...string) *Member {
	t.Helper()
	m := &Member{galera: galera}
	e.command = func(dir string, command []string) []string {
		m.command = append(command, options...)
		script := filepath.Join(dir, "serve") // so that it can be started with other options later
		if err := os.WriteFile(script, m.script(len(others) == 0), 0o644); err != nil {
			t.Fatalf("dbtest: %v", err)
		}
		return []string{"sh", script}
	}
	srv, err := e.startFound(true)
	if err != nil {
		missing(t, err)
	}
	t.Cleanup(srv.stop)
	m.Process, m.engine, m.dsn = srv.process, e, srv.dsn
	if !galera {
		err = m.admin(
			"SET SQL_LOG_BIN = 0", "CREATE USER recovery@'%' IDENTIFIED BY 'recovery'",
			"GRANT REPLICATION SLAVE, BACKUP_ADMIN, CONNECTION_ADMIN, GROUP_REPLICATION_STREAM ON *.* TO recovery@'%'",
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
		m.schema, m.DB = srv.createDatabase(t)
		return m
	}
	m.DB, m.schema = others[0].DB, others[0].schema
	if m.DSN, err = e.withDatabase(srv.dsn, m.schema); err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	return m
}

// Balanced returns a database that connects to random members of a cluster through a proxy.
func Balanced(t TB, members []*Member) (DB, *Proxy) {
	t.Helper()
	db, balancer := members[0].Through(t)
	var all []DB
	for _, m := range members {
		all = append(all, m.DB)
	}
	if err := balancer.Lead(all...); err != nil {
		t.Fatalf("%v", err)
	}
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
		if err := m.admin("STOP GROUP_REPLICATION"); err != nil {
			return err
		}
	}
	return m.await(false)
}

// Bootstrap starts a member that was killed as the only one of a cluster with its state,
// as an operator does if no other member is left. Commits that it lacks are lost.
func (m *Member) Bootstrap() error {
	state := m.file("data/grastate.dat")
	if text, err := os.ReadFile(state); err == nil {
		text = []byte(strings.Replace(string(text), "safe_to_bootstrap: 0", "safe_to_bootstrap: 1", 1))
		if err := os.WriteFile(state, text, 0o644); err != nil {
			return err
		}
	}
	return m.again(true)
}

// Force makes a member of a replication group continue alone, as an operator does if most
// members are gone. It returns when the member is the whole group.
func (m *Member) Force() error {
	// The group must have noticed that the others are gone.
	const alone = "SELECT IF(COUNT(*) = 1, 1, (SELECT 1 UNION SELECT 2)) FROM performance_schema.replication_group_members WHERE member_state = 'ONLINE'"
	for deadline := time.Now().Add(time.Minute); m.admin(alone) != nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			return errors.New("dbtest: the member still sees the others after a minute")
		}
	}
	return m.admin("SET GLOBAL group_replication_force_members = @@group_replication_local_address", "SET GLOBAL group_replication_force_members = ''")
}

// Isolate cuts a member of a [SeparateGroup] off from the others, but not from its clients.
// [Member.Reach] ends that.
func (m *Member) Isolate() error {
	return m.host.cut()
}

// Reach lets an isolated member reach the others again. See also [Member.Rejoin].
func (m *Member) Reach() error {
	return m.host.join()
}

// Forget makes a killed member of a Galera cluster fetch all data from another member
// when it joins, which is called a state snapshot transfer.
func (m *Member) Forget() error { return os.Remove(m.file("data/grastate.dat")) }

func (m *Member) again(first bool) error {
	if err := os.WriteFile(m.file("serve"), m.script(first), 0o644); err != nil {
		return err
	}
	if err := m.Process.Start(); err != nil {
		return err
	}
	return m.await(first)
}

// await waits until the member accepts statements as a member of its cluster.
func (m *Member) await(first bool) error {
	check := []string{"DO (SELECT COUNT(*) FROM mysql.user)"} // fails until the member is synced
	if !m.galera {
		var start []string
		if first {
			start = []string{"SET GLOBAL group_replication_bootstrap_group = ON"}
		}
		start = append(start, "START GROUP_REPLICATION", "SET GLOBAL group_replication_bootstrap_group = OFF")
		if err := m.admin(start...); err != nil {
			return fmt.Errorf("%w; its log ends:\n%s", err, m.warden.log())
		}
		check = []string{"SELECT IF(MIN(member_state) = 'ONLINE', 1, (SELECT 1 UNION SELECT 2)) FROM performance_schema.replication_group_members WHERE member_id = @@server_uuid"}
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		err := m.admin(check...)
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the member does not join its cluster: %w; its log ends:\n%s", err, m.warden.log())
		}
	}
}

// admin runs statements as the administrator of the member, in one session.
func (m *Member) admin(statements ...string) error {
	srv := &server{engine: m.engine, dsn: m.dsn + "?multiStatements=true"}
	return srv.admin(strings.Join(statements, "; "))
}

// script returns a script that runs the server. For Galera it first recovers the position
// in the cluster's log, as the service of the packages does.
func (m *Member) script(first bool) []byte {
	if !m.galera {
		return []byte("exec " + quote(m.command) + "\n")
	}
	command := quote(m.command)
	if first {
		command += " --wsrep-new-cluster"
	}
	return fmt.Appendf(nil, `at=$(%s --wsrep-recover --log-error= 2>&1 | sed -n 's/.*Recovered position: *//p')
exec %s ${at:+--wsrep-start-position=$at}
`, quote(m.command), command)
}

func freeAddresses(t TB, n int) (addresses []string) {
	t.Helper()
	for range n {
		port, err := freePort()
		if err != nil {
			t.Fatalf("dbtest: no free port: %v", err)
		}
		addresses = append(addresses, fmt.Sprint("127.0.0.1:", port))
	}
	return addresses
}

// galeraProvider returns the path of Galera's library, which is beside the programs of the
// system or beside fetched ones. It returns an empty string if it isn't there.
func galeraProvider() string {
	for _, programs := range filepath.SplitList(os.Getenv("PATH")) {
		for _, library := range []string{"lib/galera/libgalera_smm.so", "lib64/galera/libgalera_smm.so", "lib/libgalera_smm.so"} {
			path := filepath.Join(filepath.Dir(programs), library)
			if _, err := os.Stat(path); err == nil {
				return path
			}
		}
	}
	return ""
}
