// Package pmuloop runs known numbers of instructions, for tests of instruction
// counters: every function says how many instructions of user mode it executes,
// and its assembly is what that rests on.
//
// [Thread] makes a thread that the Go runtime does not know. Such threads cost
// nothing but their own instructions (no scheduler, no signals, no stack), so
// the sum over a process is known to the instruction.
//
// It exists for linux/arm64 only, the machine that the tests emulate, and is
// imported by tests alone.
package pmuloop
