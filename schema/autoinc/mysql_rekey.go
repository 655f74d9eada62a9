package autoinc

import (
	"context"
	"database/sql"
)

func rekeyMySQL(ctx context.Context, conn *sql.Conn, p *planner) error { return nil }
