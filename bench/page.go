package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"text/template"
	"time"
)

//go:embed page.md.tmpl
var pageText string

// A report contains the results of a run.
type report struct {
	each  time.Duration // of each line
	rows  int           // of each table
	took  time.Duration
	table table
	found []findings
}

// write writes the page to path, and its plots to files next to it.
func (r report) write(path string) error {
	text, err := template.New("page").Parse(pageText)
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(filepath.Base(path), ".md")
	var tables strings.Builder
	var behind []string
	for _, p := range r.table.parts {
		if len(p.lines) > 0 {
			fmt.Fprintf(&tables, "\n### %s\n", p.topic.title)
			p.sheet().markdown(&tables)
		}
		for _, l := range p.lines {
			if l.behind {
				behind = append(behind, because(fmt.Sprintf("%s, %s compared with %s: %s", p.topic.name, l.name, l.against, l.ratio), l.why))
			}
		}
	}
	for _, f := range r.found {
		fmt.Fprintf(&tables, "\n## %s\n", f.title)
		behind = append(behind, f.behind...)
		for _, p := range f.plots {
			file := name + "-" + p.name + ".svg"
			if err := os.WriteFile(filepath.Join(filepath.Dir(path), file), []byte(p.svg()), 0o644); err != nil {
				return err
			}
			fmt.Fprintf(&tables, "\n![%s](%s)\n", p.title, file)
		}
		for _, s := range f.sheets {
			if s.title != f.title {
				fmt.Fprintf(&tables, "\n### %s\n", s.title)
			}
			s.markdown(&tables)
		}
	}
	bars, missed, _ := strings.Cut(r.table.summary(), ":\n")
	if missed != "" {
		bars += ":\n\n* " + strings.ReplaceAll(strings.TrimSpace(missed), "\n  ", "\n* ")
	}
	var page strings.Builder
	err = text.Execute(&page, map[string]any{
		"Machine": machine(), "Date": time.Now().Format(time.DateOnly), "Took": r.took.Round(time.Second),
		"Each": r.each, "Rows": commas(int64(r.rows)), "Small": r.each < time.Second || r.rows < 1e6, "Cores": runtime.NumCPU(),
		"Versions": versions(), "Bars": bars, "Behind": behind, "Tables": "\n## Compared with a yardstick\n" + tables.String(),
	})
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(page.String()), 0o644)
}

// because adds the reason to a line about a faster peer, if there is one.
func because(line, why string) string {
	if why == "" {
		return line
	}
	return line + ". " + why
}

// versions lists the versions of the peers and integrations that are linked into this
// program. The databases are left out because the tables already show their versions.
func versions() string {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return "unknown"
	}
	shown := []string{
		"github.com/bwmarrin/snowflake", "github.com/sony/sonyflake", "github.com/rs/xid", "github.com/oklog/ulid/v2",
		"github.com/google/uuid", "gorm.io/gorm", "entgo.io/ent", "github.com/uptrace/bun", "github.com/jackc/pgx/v5",
		"github.com/go-sql-driver/mysql", "github.com/sqids/sqids-go", "github.com/speps/go-hashids/v2",
		"github.com/yitter/idgenerator-go", "github.com/godruoyi/go-snowflake",
	}
	var list []string
	for _, m := range info.Deps {
		if slices.Contains(shown, m.Path) {
			list = append(list, m.Path+" "+m.Version)
		}
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
