// Package ddl splits SQL into tokens and reads column types.
//
// It serves all dialects and packages that look at definitions: schema/catalog,
// schema/autoinc and the integrations. Package schema/catalog says why no parser
// of another module is used.
package ddl
