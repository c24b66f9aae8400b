// Package job is what the emulated machine is told, and the words in which it
// answers.
package job

// File is where the machine's first process finds its jobs: a JSON array of
// Job.
const File = "/jobs.json"

// True is a name under which the first process's program does nothing, for
// tests that start the command true.
const True = "true"

// Words on the console. A line of the machine's own begins with Mark.
const (
	Mark  = "pmuvm:"
	Begin = "begin" // and the job's name
	End   = "end"   // and the job's name, how long, and OK or what was wrong
	OK    = "ok"
	Done  = "all done"
)

// Job is one program that runs to its end.
type Job struct {
	Name string   `json:"name"` // no spaces
	Path string   `json:"path"`
	Args []string `json:"args,omitempty"`
	Env  []string `json:"env,omitempty"`
	// CPUs are those the program may use. Empty: all.
	CPUs []int `json:"cpus,omitempty"`
}
