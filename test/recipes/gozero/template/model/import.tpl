import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	{{if .time}}"time"{{end}}

	{{if .containsPQ}}"github.com/lib/pq"{{end}}
	"github.com/zeromicro/go-zero/core/stores/builder"
	"github.com/zeromicro/go-zero/core/stores/cache"
	"github.com/zeromicro/go-zero/core/stores/sqlc"
	"github.com/zeromicro/go-zero/core/stores/sqlx"
	"github.com/zeromicro/go-zero/core/stringx"

	{{- if and (eq .data.PrimaryKey.Name.Source "id") (eq .data.PrimaryKey.DataType "int64") (not .data.PrimaryKey.AutoIncrement)}}
	"github.com/snowkey-go/snowkey/hooks/sqlid"
	{{- end}}
	{{.third}}
)
