// Package ddl has an SQL tokenizer and a parser for column types.
//
// It handles all of our dialects, and everything that reads SQL definitions is built on it:
// schema/catalog, schema/autoinc and the integrations. The docs of schema/catalog explain why
// we don't use a parser from another module.
package ddl
