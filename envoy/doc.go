// Package envoy turns "the same proxy with one thing different" into running
// Envoys that differ in exactly that, and proves it.
package envoy
