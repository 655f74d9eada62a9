package zkstore

import (
	"context"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/snowkey-go/snowkey/lease"
)

// Examine implements [lease.Store]. It returns these findings:
//
//	standalone      the server runs alone, so a restore of its data can't be detected
//	world-writable  every client may change the nodes
func (s *Store) Examine(ctx context.Context) (findings []lease.Finding, err error) {
	alone, err := s.volatile(ctx)
	if err != nil {
		return nil, err
	}
	if alone {
		findings = append(findings, lease.Finding{
			Kind:   "standalone",
			Text:   "/zookeeper/config has no members: the server runs alone, or does not show its members",
			Remedy: "run it as an ensemble of one server, with standaloneEnabled=false and a line server.1=…; until then, the first ids of each lease come late, and call snowkey.Fence after a restore",
		})
	}
	acl, err := wait(ctx, func() ([]zk.ACL, error) {
		acl, _, err := s.conn.GetACL(s.path + "/namespaces")
		return acl, err
	})
	if err != nil {
		return findings, err
	}
	for _, a := range acl {
		if a.Scheme == "world" && a.Perms&(zk.PermWrite|zk.PermCreate|zk.PermDelete) != 0 {
			findings = append(findings, lease.Finding{
				Kind:   "world-writable",
				Text:   fmt.Sprintf("every client may change the nodes in %q, and so make ids repeat", s.path),
				Remedy: "create the nodes with Store.WithACL, or set the list of the nodes that exist with zkCli.sh setAcl -R",
			})
		}
	}
	return findings, nil
}
