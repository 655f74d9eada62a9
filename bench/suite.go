package main

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// A suite contains all topics of the table, and closes everything that they use.
type suite struct {
	topics []topic
	close  func() error
}

// open prepares the suite, whose files go into dir.
func open(dir string) (*suite, error) {
	kept.heap = make([]byte, 64<<20)
	p, err := openPools()
	if err != nil {
		return nil, err
	}
	rows, closeFiles, err := rows(dir, p)
	end := func() error { return errors.Join(closeFiles(), p.close()) }
	if err != nil {
		return nil, errors.Join(err, end())
	}
	segments, closeSegments, err := segments(dir)
	end = func() error { return errors.Join(closeSegments(), closeFiles(), p.close()) }
	if err != nil {
		return nil, errors.Join(err, end())
	}
	bursts, closeBursts, err := bursts(dir)
	end = func() error { return errors.Join(closeBursts(), closeSegments(), closeFiles(), p.close()) }
	if err != nil {
		return nil, errors.Join(err, end())
	}
	peers, err := peers(p)
	if err != nil {
		return nil, errors.Join(err, end())
	}
	publicIDs, err := publicIDs()
	if err != nil {
		return nil, errors.Join(err, end())
	}
	tokens, err := tokens(p)
	if err != nil {
		return nil, errors.Join(err, end())
	}
	return &suite{[]topic{next(p), cold(), ceiling(p), waiting(p), batch(p), keys(), publicIDs, tokens, segments, rows, bursts, peers}, end}, nil
}

// measure produces the table, which takes about d for each line.
func (s *suite) measure(d time.Duration) (table, error) {
	var t table
	for _, topic := range s.topics {
		fmt.Fprintf(os.Stderr, "measuring: %s\n", topic.title)
		part := part{topic: topic}
		for _, trial := range topic.trials {
			lines, err := trial.measure(d)
			if err != nil {
				return t, fmt.Errorf("%s: %w", topic.title, err)
			}
			part.lines = append(part.lines, lines...)
		}
		t.parts = append(t.parts, part)
	}
	return t, nil
}
