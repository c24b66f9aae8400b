// Package loadgen is an open-loop HTTP/1.1 load generator that tells the
// truth about itself.
package loadgen
