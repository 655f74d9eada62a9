package byent

import (
	"context"
	"database/sql"
	"strconv"

	"narrow/ent"
)

func users(ctx context.Context, c *ent.UserClient, create *ent.UserCreate, user *ent.User, text, other string) {
	_ = int32(user.ID)                        // want "user.ID is a key, and int32 has 32 bits"
	_ = int32(user.Age)                       // fine
	id, err := strconv.ParseInt(text, 10, 32) // want "numbers above 32 bits are refused"
	_, _ = c.Get(ctx, int(id))                // want "id is a key, and int has 32 bits on 32-bit platforms"
	boss, err := strconv.Atoi(text + "1")     // want "int has 32 bits"
	create.SetBossID(boss)
	age, err := strconv.Atoi(other) // fine
	create.SetAge(age)
	_ = err
}

func insert(result sql.Result) (int64, error) { return result.LastInsertId() }

func inserted(result sql.Result) {
	n, err := insert(result)
	_, _ = int32(n), err    // want "n is a key, and int32 has 32 bits"
	_ = int32(ent.Root)     // want "ent.Root is a key, and int32 has 32 bits"
	_ = int32(ent.Greatest) // fine
}
