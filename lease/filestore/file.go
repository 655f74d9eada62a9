package filestore

import (
	"bytes"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/snowkey-go/snowkey/internal/protocol"
	"github.com/snowkey-go/snowkey/lease"
)

// The parts of file names.
const (
	prefix     = "snowkey-"
	suffix     = ".leases"
	unfinished = ".tmp"
)

// letters must not contain two letters that differ only in case.
var letters = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// fileName returns the name of a namespace's file. A namespace can be any string, so we
// encode it. The names stay different even on systems that ignore case.
func fileName(namespace string) string {
	return prefix + letters.EncodeToString([]byte(namespace)) + suffix
}

// namespaceOf returns the namespace whose file has this name. It's the inverse of
// fileName.
func namespaceOf(file string) (namespace string, ok bool) {
	text, isLease := strings.CutPrefix(file, prefix)
	text, ended := strings.CutSuffix(text, suffix)
	name, err := letters.DecodeString(text)
	return string(name), isLease && ended && err == nil
}

// header is the first line of a file, with the version and checksum of the rest.
const header = "snowkey leases, version %d, checksum %08x"

func (s *space) encode() ([]byte, error) {
	body, err := json.MarshalIndent(s, "", "\t")
	if err != nil {
		return nil, err
	}
	body = append(body, '\n')
	return append(fmt.Appendf(nil, header+"\n", protocol.Version, crc32.ChecksumIEEE(body)), body...), nil
}

// decode returns the space of a namespace from the text of its file.
func decode(path string, text []byte, namespace string) (*space, error) {
	first, body, _ := bytes.Cut(text, []byte("\n"))
	var found int
	var sum uint32
	_, err := fmt.Sscanf(string(first), header, &found, &sum)
	switch {
	case err != nil:
		return nil, damaged(path, "does not start like a file of leases")
	case found != protocol.Version:
		return nil, &lease.VersionError{Where: "the file " + path, Found: strconv.Itoa(found)}
	case sum != crc32.ChecksumIEEE(body):
		return nil, damaged(path, "has a wrong checksum")
	}
	var s space
	var short bytes.Buffer // without the indentation, which isn't part of the texts
	if err = json.Compact(&short, body); err == nil {
		err = json.Unmarshal(short.Bytes(), &s)
	}
	if err != nil {
		return nil, damaged(path, "cannot be read: "+err.Error())
	}
	if s.Namespace != namespace {
		return nil, damaged(path, fmt.Sprintf("has the leases of namespace %q, not of %q", s.Namespace, namespace))
	}
	return &s, nil
}

// damaged returns the error for a damaged file, which is not changed. Once the processes
// have ended, it's safe to delete it, because without it a namespace starts above
// everything that it can have granted. Layouts with long ticks are an exception: there the
// namespace starts in the current tick, so the processes have to wait for the next one.
func damaged(path, reason string) error {
	return fmt.Errorf("filestore: %w %q: it %s; restore a copy of it, or end the processes of the namespace and delete it (if the layout's tick is longer than a second, start them in the next tick)",
		errDamaged, path, reason)
}
