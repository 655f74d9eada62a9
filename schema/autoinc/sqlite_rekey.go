package autoinc

import (
	"context"
	"database/sql"
)

func rekeySQLite(ctx context.Context, conn *sql.Conn, p *planner) error { return nil }
