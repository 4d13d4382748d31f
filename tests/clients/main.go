// Clients that others wrote, for tests of the simulator, as one program: it is
// kubectl or the program of informers.go, by the name it is called with.
//
// Its Kubernetes is that of ../control-plane, and so are the versions of what
// both need: a machine that has compiled one compiles little of the other.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	// What kubectl itself brings along to authenticate.
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

func main() {
	switch name := filepath.Base(os.Args[0]); name {
	case "kubectl":
		if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
			util.CheckErr(err)
		}
	case "informers":
		if err := informers(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "informers:", err)
			os.Exit(1)
		}
	default:
		fmt.Fprintf(os.Stderr, "called as %s, which is neither kubectl nor informers\n", name)
		os.Exit(2)
	}
}
