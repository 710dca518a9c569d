// Composecheck loads a compose file as `docker compose` does, with its own loader: schema, merges, interpolation,
// dependencies. It prints the project it found, as JSON. No engine is asked, and no image is looked up.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	options, err := cli.NewProjectOptions(os.Args[1:], cli.WithName("check"), cli.WithResolvedPaths(false))
	if err != nil {
		fail(err)
	}
	project, err := options.LoadProject(context.Background())
	if err != nil {
		fail(err)
	}
	text, err := project.MarshalJSON()
	if err != nil {
		fail(err)
	}
	fmt.Println(string(text))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
