package autoinc_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/snowkey-go/snowkey/internal/dbtest"
	"github.com/snowkey-go/snowkey/internal/failpoint"
	"github.com/snowkey-go/snowkey/schema/autoinc"
)

// family is a parent along with children for each of the rules.
var family = []string{
	"CREATE TABLE parent (id INT AUTO_INCREMENT PRIMARY KEY, boss INT, FOREIGN KEY (boss) REFERENCES parent (id) ON DELETE CASCADE)",
	"CREATE TABLE cascades (id INT AUTO_INCREMENT PRIMARY KEY, p INT NOT NULL, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE)",
	"CREATE TABLE nulls (id INT AUTO_INCREMENT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE SET NULL ON UPDATE SET NULL)",
	"CREATE TABLE restricts (id INT AUTO_INCREMENT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE RESTRICT ON UPDATE RESTRICT)",
	"CREATE TABLE grandchild (id INT AUTO_INCREMENT PRIMARY KEY, c INT, FOREIGN KEY (c) REFERENCES cascades (id) ON DELETE CASCADE)",
}

// At points of Apply and Undo, we check that foreign keys and their stand-ins behave in
// the same way.
func TestStandIns(t *testing.T) {
	t.Parallel()
	for _, online := range []bool{false, true} {
		t.Run(fmt.Sprintf("online=%t", online), func(t *testing.T) {
			t.Parallel()
			standIns(t, autoinc.PlanOptions{Online: online})
		})
	}
}

func standIns(t *testing.T, options autoinc.PlanOptions) {
	_, conn := one(t, "mysql")
	conn.SetMaxOpenConns(4)
	dbtest.Exec(t, conn, family...)
	tries := fewPoints(t)
	p := plan(t, conn, options)
	points, id := 0, 0
	at := ""
	does := func(want uint16, statement string, args ...any) {
		t.Helper()
		_, err := conn.Exec(fmt.Sprintf(statement, args...))
		refused, _ := errors.AsType[*mysql.MySQLError](err)
		if want == 0 && err != nil || want != 0 && (refused == nil || refused.Number != want) {
			t.Errorf("at %s: %s: got %v, want %d", at, fmt.Sprintf(statement, args...), err, want)
		}
	}
	counts := func(want int, query string, args ...any) {
		t.Helper()
		requireNumber(t, conn, want, fmt.Sprintf(query, args...)+" -- at "+at)
	}
	check := func(point string) {
		if points++; !tries(points) && !options.Online { // where each point is between two other triggers
			return
		}
		at = point
		id += 10
		a, b, c, d := id, id+1, id+2, id+3
		does(0, "INSERT INTO parent (id) VALUES (%d), (%d), (%d)", a, b, c)
		does(0, "INSERT INTO parent (id, boss) VALUES (%d, %d)", d, a)
		does(0, "INSERT INTO cascades (id, p) VALUES (%[1]d, %[1]d), (%[2]d, %[1]d), (%[3]d, %[2]d)", a, b, c)
		does(0, "INSERT INTO grandchild (c) VALUES (%d), (%d), (%d)", a, b, c)
		does(0, "INSERT INTO nulls (id, p) VALUES (%[1]d, %[1]d), (%[2]d, NULL), (%[3]d, %[2]d)", a, b, c)
		does(0, "INSERT INTO restricts (id, p) VALUES (%[1]d, %[1]d)", c)
		for _, table := range []string{"cascades", "nulls", "restricts"} {
			does(1452, "INSERT INTO %s (p) VALUES (%d)", table, id+9)
		}
		does(1452, "UPDATE nulls SET p = %d WHERE id = %d", id+9, c)
		does(1452, "UPDATE parent SET boss = %d WHERE id = %d", id+9, d)
		does(1451, "DELETE FROM parent WHERE id = %d", c)
		does(1451, "UPDATE parent SET id = %d WHERE id = %d", id+8, c)
		does(0, "UPDATE parent SET id = %d WHERE id = %d", id+7, b)
		counts(1, "SELECT COUNT(*) FROM cascades WHERE id = %d AND p = %d", c, id+7)
		counts(1, "SELECT COUNT(*) FROM nulls WHERE id = %d AND p IS NULL", c)
		does(0, "DELETE FROM parent WHERE id = %d", d)
		does(0, "DELETE FROM parent WHERE id = %d", a)
		counts(1, "SELECT COUNT(*) FROM cascades WHERE id IN (%d, %d, %d)", a, b, c)
		counts(1, "SELECT COUNT(*) FROM grandchild WHERE c IN (%d, %d, %d)", a, b, c)
		counts(1, "SELECT COUNT(*) FROM nulls WHERE id = %d AND p IS NULL", a)
	}
	ctx := failpoint.WithHook(t.Context(), func(point string) error { check(point); return nil })
	dbtest.Must(autoinc.Apply(ctx, conn, p, autoinc.ApplyOptions{}))(t)
	if v, err := autoinc.Verify(t.Context(), conn, p); err != nil || strings.Contains(verdicts(t, v), "references a") {
		t.Errorf("%v\n%s", err, verdicts(t, v))
	}
	dbtest.NoError(t, autoinc.Undo(ctx, conn, p, autoinc.ApplyOptions{}))
	t.Logf("%d points", points)
}

// Apply widens while programs insert children and delete parents. No child may ever be
// left without its parent.
func TestWidenWhileParentsAreDeleted(t *testing.T) {
	t.Parallel()
	for _, online := range []bool{false, true} {
		t.Run(fmt.Sprintf("online=%t", online), func(t *testing.T) {
			t.Parallel()
			widenWhileParentsAreDeleted(t, autoinc.PlanOptions{Online: online})
		})
	}
}

func widenWhileParentsAreDeleted(t *testing.T, options autoinc.PlanOptions) {
	_, conn := one(t, "mysql")
	conn.SetMaxOpenConns(12)
	dbtest.Exec(t, conn, family...)
	dbtest.Exec(t, conn, "INSERT INTO parent (id) VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9)")
	p := plan(t, conn, options)
	statements := func() error {
		id := rand.IntN(40) + 1
		_, err := conn.Exec([]string{
			fmt.Sprintf("INSERT INTO parent (id) VALUES (%d)", id),
			fmt.Sprintf("DELETE FROM parent WHERE id = %d", id),
			fmt.Sprintf("INSERT INTO cascades (p) VALUES (%d)", id),
			fmt.Sprintf("INSERT INTO nulls (p) VALUES (%d)", id),
			fmt.Sprintf("INSERT INTO grandchild (c) SELECT MAX(id) FROM cascades WHERE p = %d", id),
			fmt.Sprintf("UPDATE nulls SET p = %d ORDER BY id DESC LIMIT 1", id),
		}[rand.IntN(6)])
		return err // most are what foreign keys refuse
	}
	c := repeat(t, 0, statements, statements, statements, statements, statements, statements)
	c.wait(t, 50)
	dbtest.Must(autoinc.Apply(t.Context(), conn, p, autoinc.ApplyOptions{}))(t)
	c.stop()
	for _, orphans := range []string{"cascades c LEFT JOIN parent p ON p.id = c.p WHERE c.p", "nulls c LEFT JOIN parent p ON p.id = c.p WHERE c.p", "grandchild c LEFT JOIN cascades p ON p.id = c.c WHERE c.c"} {
		requireNumber(t, conn, 0, "SELECT COUNT(*) FROM "+orphans+" IS NOT NULL AND p.id IS NULL")
	}
}
