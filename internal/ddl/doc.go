// Package ddl splits SQL into tokens and reads column types.
//
// It works for all dialects. The packages that read SQL definitions use it:
// schema/catalog, schema/autoinc and the integrations. The documentation of
// schema/catalog explains why they do not use a parser from another module.
package ddl
