package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/snowkey-go/snowkey/schema/autoinc"
)

// check compares the database with the rows that were written, and prints the result.
// The database must contain exactly these rows, every foreign key has to resolve, and
// no key may be repeated.
func check(ctx context.Context, out io.Writer, db database, want rows) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "table\trows\tcounted\tgenerated\t")
	generated := make(map[int64]string)
	for _, table := range tables {
		ids, err := keys(ctx, db, table)
		if err != nil {
			return err
		}
		if err := same(table, ids, want[table]); err != nil {
			return err
		}
		n := 0
		for _, id := range ids {
			if id < autoinc.DefaultFloor {
				continue
			}
			n++
			if other, known := generated[id]; known {
				return fmt.Errorf("the key %d is in %s and in %s", id, other, table)
			}
			generated[id] = table
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t\n", table, len(ids), len(ids)-n, n)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, r := range references {
		var orphans int
		err := db.QueryRowContext(ctx, fmt.Sprintf("SELECT count(*) FROM %s AS c LEFT JOIN %s AS p ON p.id = c.%s WHERE c.%[3]s IS NOT NULL AND p.id IS NULL",
			r.table, r.parent, r.column)).Scan(&orphans)
		if err != nil {
			return err
		}
		if orphans > 0 {
			return fmt.Errorf("%d rows of %s have a %s that is not in %s", orphans, r.table, r.column, r.parent)
		}
	}
	_, err := fmt.Fprintf(out, "every row that was written is there, and no other; no key repeats; all %d foreign keys resolve\n", len(references))
	return err
}

// keys returns the keys of a table in ascending order.
func keys(ctx context.Context, db database, table string) (ids []int64, err error) {
	rows, err := db.QueryContext(ctx, "SELECT id FROM "+table+" ORDER BY id")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// same compares the keys of a table, which must be sorted, with those that were
// written.
func same(table string, got, written []int64) error {
	want := slices.Sorted(slices.Values(written))
	for i := range max(len(got), len(want)) {
		switch {
		case i > 0 && i < len(got) && got[i] == got[i-1], i > 0 && i < len(want) && want[i] == want[i-1]:
			return fmt.Errorf("a key of %s repeats: %d", table, want[min(i, len(want)-1)])
		case i >= len(got) || i < len(want) && want[i] < got[i]:
			return fmt.Errorf("the row %d of %s was written and is missing", want[i], table)
		case i >= len(want) || got[i] < want[i]:
			return fmt.Errorf("the row %d of %s is there and was not written", got[i], table)
		}
	}
	return nil
}
