package main

import "regexp"

// reasons say why others are faster, for lines of the page that match. Each one names the
// table that shows it, which the same run has measured.
var reasons = []struct{ of, why string }{
	{"Keys, MarshalJSON compared with xid's", "A BIGINT has 19 decimal digits, and each pair of them takes a division. xid takes 5 bits for each of its 20 letters. " +
		"The standard library needs longer for the same digits (“AppendInt in quotes”). `SortText` is base32 too; its row is “SortText.MarshalJSON”."},
	{"Keys, UnmarshalText compared with ULID's", "19 decimal digits are a chain of multiplications, and each letter of a ULID is looked up and shifted on its own. " +
		"The standard library needs longer for the same digits (“ParseInt”). `SortText` is base32 too; its row is “SortText.UnmarshalText”."},
	{"at the ceiling", "Snowkey sleeps until the next tick, and bwmarrin/snowflake keeps a core busy (“CPU, in cores”). The first calls after a sleep find other data " +
		"in the caches (“An id after a pause”), and the longest one is late because the system was late."},
	{"^(mariadb|mysql) .*, 1,000 rows: .* of auto-increment$", "The program sends the keys, and the server makes auto-increment's itself. “Sending keys” shows the same ratio for the keys 1, 2, 3 …, so it is what sending a " +
		"number costs."},
}

// withReason adds the reason to a line, if there is one.
func withReason(line string) string {
	for _, r := range reasons {
		if regexp.MustCompile(r.of).MatchString(line) {
			return line + ". " + r.why
		}
	}
	return line
}
