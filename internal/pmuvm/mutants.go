package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tareperf/tare/internal/pmuvm/job"
)

// mutant is a fault that a counter could have, as a change of the source: old,
// which is there exactly once, becomes new.
type mutant struct {
	name     string
	file     string // of package counters
	old, new string
	// mustFail are the tests that have to notice.
	mustFail []string
}

// runMutants builds the tests of package counters once for each fault, runs all
// in one machine, and demands that the named tests fail. The sources are not
// touched (`go help build`, -overlay).
func (o options) runMutants(ctx context.Context, b builder) error {
	p := programs{}
	if err := b.init(ctx, p); err != nil {
		return err
	}
	var jobs []job.Job
	for _, m := range append([]mutant{noFault}, mutants...) {
		overlay, err := b.overlay(m)
		if err != nil {
			return err
		}
		at := "/" + m.name + ".test"
		if err := b.test(ctx, p, at, "./counters", overlay); err != nil {
			return fmt.Errorf("mutant %s: %w", m.name, err)
		}
		jobs = append(jobs, countersJob(m.name, at, hardwareTests, "-test.short")...)
	}
	var said bytes.Buffer
	text, err := o.boot(ctx, b.dir, p, jobs, &said)
	if err == nil {
		err = judgeMutants(parse(text))
	}
	if err != nil {
		// Not to be taken for results of tests: they were meant to fail.
		fmt.Print("| ", strings.ReplaceAll(strings.TrimSpace(said.String()), "\n", "\n| "), "\n")
	}
	return err
}

// judgeMutants prints a line for each fault. It is nil if each fault was
// noticed, the sources without a fault pass, and there is no test that notices
// nothing.
func judgeMutants(t transcript) error {
	errs := []error{t.machine()}
	dull := map[string]bool{} // tests that have failed on no fault yet
	for _, m := range append([]mutant{noFault}, mutants...) {
		o := t.jobs[m.name]
		if o == nil || o.end == "" {
			errs = append(errs, fmt.Errorf("mutant %s was not run to its end", m.name))
			continue
		}
		if m.name == noFault.name {
			errs = append(errs, t.verdict(countersJob(m.name, "", "")))
			for _, name := range o.listed {
				dull[name] = true
			}
		}
		verdict := "noticed"
		for _, name := range m.mustFail {
			if !slices.Contains(o.failed, name) {
				verdict = "MISSED"
				errs = append(errs, fmt.Errorf("mutant %s: %s did not fail", m.name, name))
			}
		}
		fmt.Printf("%-8s %-24s %2d of %d tests fail:", verdict, m.name, len(o.failed), len(o.listed))
		for _, name := range o.failed {
			delete(dull, name)
			fmt.Print(" ", strings.TrimPrefix(name, "TestPMU"))
			if slices.Contains(m.mustFail, name) {
				fmt.Print("*")
			}
		}
		fmt.Println()
	}
	fmt.Println("(* had to)")
	for _, name := range slices.Sorted(maps.Keys(dull)) {
		errs = append(errs, fmt.Errorf("%s fails on no fault: add one that it notices", name))
	}
	return errors.Join(errs...)
}

// overlay writes the changed file and the table that go build wants.
func (b builder) overlay(m mutant) (string, error) {
	path := filepath.Join(b.root, "counters", m.file)
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	changed, err := m.apply(string(text))
	if err != nil {
		return "", err
	}
	source := filepath.Join(b.dir, m.name+".go")
	if err := os.WriteFile(source, []byte(changed), 0o644); err != nil {
		return "", err
	}
	table, err := json.Marshal(map[string]map[string]string{"Replace": {path: source}})
	if err != nil {
		return "", err
	}
	out := filepath.Join(b.dir, m.name+".json")
	return out, os.WriteFile(out, table, 0o644)
}

func (m mutant) apply(text string) (string, error) {
	if n := strings.Count(text, m.old); n != 1 {
		return "", fmt.Errorf("mutant %s: %s has %d times %q, must have it once: write the mutant anew", m.name, m.file, n, m.old)
	}
	return strings.Replace(text, m.old, m.new, 1), nil
}
