package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// A study measures what a trial can't: how a cost grows, or how several competitors
// compare.
type study struct {
	title string

	// measure takes about d for each line.
	measure func(d time.Duration) (findings, error)
}

// findings are the results of a study.
type findings struct {
	title  string
	sheets []sheet
	plots  []plot
	behind []string // where others are faster than we are
}

// studies prepares all studies. They fill their tables with the given number of rows.
func studies(dir string, p *pools, rows int) ([]study, error) {
	sources, err := sources(p, "studies")
	if err != nil {
		return nil, err
	}
	return []study{
		latencies(sources),
		rates(p, sources),
		cores(sources),
		sending(dir, p),
		published(p),
		inserts(dir, p, "postgres", rows),
		inserts(dir, p, "mysql", rows),
	}, nil
}

// measureStudies runs the studies whose titles contain only, for about d per line.
func measureStudies(dir string, rows int, only string, d time.Duration) (all []findings, err error) {
	p, err := openPools()
	if err != nil {
		return nil, err
	}
	defer func() {
		if closed := p.close(); err == nil {
			err = closed
		}
	}()
	list, err := studies(dir, p, rows)
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		if !strings.Contains(s.title, only) {
			continue
		}
		fmt.Fprintf(os.Stderr, "measuring: %s\n", s.title)
		found, err := s.measure(d)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.title, err)
		}
		found.title = s.title
		all = append(all, found)
	}
	return all, nil
}

func (f findings) print(w io.Writer) {
	for _, s := range f.sheets {
		s.print(w)
	}
}
