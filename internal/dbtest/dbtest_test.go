package dbtest

import "testing"

func TestEachFresh(t *testing.T) {
	Each(t, func(t *testing.T, db DB) {
		conn := db.Connect(t)
		if _, err := conn.Exec("CREATE TABLE a (id BIGINT PRIMARY KEY)"); err != nil {
			t.Fatal(err)
		}
	})
}
