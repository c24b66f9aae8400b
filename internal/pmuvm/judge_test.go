package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tareperf/tare/internal/pmuvm/job"
)

// good is a console as the machine writes it, shortened.
const good = `[    0.601] random: crng init done
pmuvm: begin counters:list
TestPMUOne
TestPMUTwo
pmuvm: end counters:list after 0.0 s of its clock: ok
pmuvm: begin counters
=== RUN   TestPMUOne
    one_test.go:43: loop: 100
--- PASS: TestPMUOne (1.64s)
=== RUN   TestPMUTwo
--- PASS: TestPMUTwo (3.10s)
    --- PASS: TestPMUTwo/turns (1.04s)
PASS
pmuvm: end counters after 2.0 s of its clock: ok
pmuvm: all done
[    2.520495] reboot: Power down
`

func jobs() []job.Job { return countersJob("counters", "/counters.test", hardwareTests) }

func TestVerdict(t *testing.T) {
	require.NoError(t, parse(good).verdict(jobs()))
	for name, c := range map[string]struct{ old, new, want string }{
		"a failure":                 {"--- PASS: TestPMUTwo ", "--- FAIL: TestPMUTwo ", "TestPMUTwo did not pass"},
		"a skip":                    {"--- PASS: TestPMUTwo ", "--- SKIP: TestPMUTwo ", "TestPMUTwo did not pass"},
		"a test that never ran":     {"--- PASS: TestPMUTwo ", "", "TestPMUTwo did not pass"},
		"a part is not the whole":   {"--- PASS: TestPMUTwo (", "    --- PASS: TestPMUTwo (", "TestPMUTwo did not pass"},
		"another test's pass":       {"--- PASS: TestPMUOne ", "--- PASS: TestPMUOneMore ", "TestPMUOne did not pass"},
		"a pass before its job":     {"pmuvm: begin counters:list", "--- PASS: TestPMUTwo (0s)\npmuvm: begin counters:list", ""},
		"an exit code":              {"2.0 s of its clock: ok", "2.0 s of its clock: exit code 2", "job counters: after 2.0 s of its clock: exit code 2"},
		"a job that hangs":          {"pmuvm: end counters after 2.0 s of its clock: ok\npmuvm: all done\n", "", "job counters: never ended"},
		"a job that never began":    {"pmuvm: begin counters\n", "", "job counters never began"},
		"no tests":                  {"TestPMUOne\nTestPMUTwo\n", "", "job counters has no tests"},
		"no end":                    {"pmuvm: all done\n", "", "did not come to its end"},
		"a mount that failed":       {"pmuvm: all done", "pmuvm: failed: mount /proc", "failed: mount /proc"},
		"a panic":                   {"reboot: Power down", "Kernel panic - not syncing: Attempted to kill init!", "Kernel panic"},
		"an oops":                   {"[    0.601]", "[    0.601] Internal error: Oops: 96000004", "Oops"},
		"qemu says it cannot start": {good, "qemu-system-aarch64: could not load kernel", "never began"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, good, c.old)
			err := parse(strings.Replace(good, c.old, c.new, 1)).verdict(jobs())
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(good)
	f.Add("pmuvm: \npmuvm: end\npmuvm: begin \n--- PASS: \n")
	f.Fuzz(func(t *testing.T, text string) {
		// Nothing passes without these words.
		if parse(text).verdict(jobs()) == nil {
			for _, word := range []string{"pmuvm: all done", "pmuvm: end counters ", "--- PASS: Test"} {
				require.Contains(t, text, word)
			}
		}
	})
}

func TestMutantVerdict(t *testing.T) {
	ran := func(name, failed string, tests ...string) string {
		var text strings.Builder
		say := func(parts ...string) { text.WriteString(strings.Join(parts, " ") + "\n") }
		say(job.Mark, job.Begin, name+listSuffix)
		for _, test := range tests {
			say(test)
		}
		say(job.Mark, job.End, name+listSuffix, "after 0 s: ok")
		say(job.Mark, job.Begin, name)
		end := job.OK
		for _, test := range tests {
			verb := "--- PASS:"
			if strings.Contains(failed, test) {
				verb, end = "--- FAIL:", "exit code 1"
			}
			say(verb, test, "(0.1s)")
		}
		say(job.Mark, job.End, name, "after 1 s:", end)
		return text.String()
	}
	all := map[string]bool{}
	var tests []string
	for _, m := range mutants {
		for _, name := range m.mustFail {
			if !all[name] {
				tests = append(tests, name)
			}
			all[name] = true
		}
	}
	console := func(except, none string, more ...string) string {
		text := ran(noFault.name, none, append(tests, more...)...)
		for _, m := range mutants {
			failed := strings.Join(m.mustFail, " ")
			if m.name == except {
				failed = ""
			}
			text += ran(m.name, failed, append(tests, more...)...)
		}
		return text + job.Mark + " " + job.Done + "\n"
	}
	require.NoError(t, judgeMutants(parse(console("", ""))))
	for _, m := range mutants {
		require.ErrorContains(t, judgeMutants(parse(console(m.name, ""))), "mutant "+m.name+": "+m.mustFail[0]+" did not fail")
	}
	require.ErrorContains(t, judgeMutants(parse(console("", tests[0]))), tests[0]+" did not pass")
	require.ErrorContains(t, judgeMutants(parse(console("", "", "TestPMUDull"))), "TestPMUDull fails on no fault")
	cut := strings.Replace(console("", ""), job.Mark+" "+job.End+" "+mutants[0].name+" ", "", 1)
	require.ErrorContains(t, judgeMutants(parse(cut)), "not run to its end")
}

// Each fault can be put into the sources as they are now.
func TestMutantsApply(t *testing.T) {
	root, err := moduleRoot()
	require.NoError(t, err)
	b := builder{root: root, dir: t.TempDir()}
	names := map[string]bool{}
	for _, m := range append([]mutant{noFault}, mutants...) {
		_, err := b.overlay(m)
		require.NoError(t, err)
		require.False(t, names[m.name], m.name)
		names[m.name] = true
		if m.name != noFault.name {
			require.NotEqual(t, m.old, m.new, m.name)
			require.NotEmpty(t, m.mustFail, m.name)
		}
	}
}
