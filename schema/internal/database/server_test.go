package database

import (
	"testing"

	"github.com/snowkey-go/snowkey/internal/sqldialect"
)

func TestParseBanner(t *testing.T) {
	for _, tc := range []struct {
		banner  string
		sqlite  bool
		dialect sqldialect.Dialect
		version string
		known   bool
	}{
		{"PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc", false, sqldialect.Postgres, "15.18", true},
		{"PostgreSQL 19beta1 on aarch64", false, sqldialect.Postgres, "19", true},
		{"PostgreSQL 12.0", false, sqldialect.Postgres, "12.0", true},
		{"PostgreSQL 11.22", false, sqldialect.Postgres, "11.22", false},
		{"10.11.19-MariaDB-0+deb12u1", false, sqldialect.MariaDB, "10.11.19", true},
		{"5.5.5-10.11.19-MariaDB", false, sqldialect.MariaDB, "5.5.5", false},
		{"10.5.9-MariaDB", false, sqldialect.MariaDB, "10.5.9", false},
		{"9.7.4", false, sqldialect.MySQL, "9.7.4", true},
		{"8.0.36-0ubuntu0.22.04.1", false, sqldialect.MySQL, "8.0.36", true},
		{"5.7.44-log", false, sqldialect.MySQL, "5.7.44", false},
		{"3.54.1", true, sqldialect.SQLite, "3.54.1", true},
		{"3.36.0", true, sqldialect.SQLite, "3.36.0", false},
		{"", false, "", "", false},
	} {
		got, known := parseBanner(tc.banner, tc.sqlite)
		if known != tc.known || known && got != (Server{tc.dialect, tc.version}) {
			t.Errorf("%q: %+v, %v", tc.banner, got, known)
		}
	}
}

func TestCompatible(t *testing.T) {
	for banner, want := range map[string]string{
		"PostgreSQL 15.2-YB-2.21.0.0-b0 on x86_64":      "YugabyteDB",
		"CockroachDB CCL v23.1.0 (x86_64-pc-linux-gnu)": "CockroachDB",
		"8.0.11-TiDB-v8.4.0":                            "TiDB",
		"8.0.30-Vitess":                                 "Vitess",
		"8.0.35-Vitess":                                 "Vitess",
		"PostgreSQL 11.2-YB-2.25.2.0-b0 on x86_64":      "YugabyteDB",
		"CockroachDB CCL v24.3.1 (x86_64-pc-linux-gnu)": "CockroachDB",
		"5.7.25-OceanBase-v4.2.1.0":                     "OceanBase",
		"PostgreSQL 14.0 (CrateDB 5.4.0 on x86_64)":     "CrateDB",
		"PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc": "",
		"10.11.19-MariaDB-0+deb12u1": "",
		"9.7.4":                      "",
	} {
		if got := compatible(banner); got != want {
			t.Errorf("%q is %q, want %q", banner, got, want)
		}
	}
}
