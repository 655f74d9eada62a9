// Package schema declares the entities of the examples.
package schema
