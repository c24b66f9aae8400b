// Command tare is the door to the packages of this module for use by hand.
//
//	tare load --rate 2000 --duration 30s http://127.0.0.1:8080/4k
//
// loads a server at an exact rate and says whether the load was what was
// asked: package loadgen has the meaning of every number.
//
//	tare doctor
//
// says what this machine can measure, why not more, and what to do about it. It
// changes nothing. Its exit status is its verdict: 0 can measure, 1 CPU time
// only and not cycles, 2 cannot measure.
//
// tare without a command lists the commands, and tare COMMAND -h the flags of
// one.
//
// # Exit status of load
//
//	0    done: sent as asked, and every answer was right
//	1    it could not be done: nothing listens, a certificate does not verify, ...
//	2    wrong use: a flag, its value, the address
//	3    not as asked: overflow, failures, requests without an answer at
//	     the end, another rate, a handshake that should have resumed and did not
//	4    as asked, but the generator had too little CPU to spare, so its
//	     times and costs are not the server's
//	130  interrupted by a signal; the counts are those until then
//
// With --json there is one object on standard output in every case but 2,
// and messages go to standard error.
package main
