package stats_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// plumbing needs no statistics in its documentation: arithmetic, accessors,
// errors, and what only composes documented functions.
var plumbing = map[string]bool{
	"Error": true, "Unwrap": true, "String": true, "Contains": true, "HalfWidth": true, "Testable": true,
	"PerResponse": true, "Total": true, "Ratios": true, "Percent": true, "Effect": true, "Balanced": true,
	"CheckBalance": true, "Check": true, "Review": true, "Report": true, "Judge": true, "AcrossSessions": true, "FromRounds": true,
}

// Every exported name is documented, and every exported statistical function
// names its source and what it assumes.
func TestDocumentation(t *testing.T) {
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	checked := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, parser.ParseComments)
		require.NoError(t, err)
		for _, d := range tree.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if !d.Name.IsExported() {
					continue
				}
				checked++
				doc := d.Doc.Text()
				if d.Name.Name != "Error" { // an interface says it all
					require.NotEmpty(t, doc, "%s: %s", f.Name(), d.Name.Name)
				}
				if plumbing[d.Name.Name] || d.Recv != nil && d.Name.Name == "Equivalence" { // the function has it
					continue
				}
				require.Regexp(t, `[Ss]ource`, doc, "%s: %s names no source", f.Name(), d.Name.Name)
				require.Regexp(t, `[Aa]ssum`, doc, "%s: %s names no assumption", f.Name(), d.Name.Name)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if ts, ok := s.(*ast.TypeSpec); ok && ts.Name.IsExported() {
						require.NotEmpty(t, d.Doc.Text()+ts.Doc.Text(), "%s: %s", f.Name(), ts.Name.Name)
					}
				}
			}
		}
	}
	require.Greater(t, checked, 50)
}
