// Package sys holds the raw system calls of this module and is its only user
// of package unsafe. Each function wraps one call, keeps the errno of the
// kernel (errors.Is works with syscall errors), and knows nothing of what the
// call is for.
package sys
