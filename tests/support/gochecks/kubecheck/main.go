// Kubecheck decodes Kubernetes manifests from standard input strictly into their Go types, the same that the API
// server decodes them into: an unknown or doubled field, or a value of a wrong type, is an error. It is not a
// cluster: what admission and validation say beyond the types is not checked.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

func main() {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, kedav1alpha1.AddToScheme, monitoringv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			fail(err)
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	reader := utilyaml.NewYAMLReader(bufio.NewReader(os.Stdin))
	checked, wrong := 0, 0
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			fail(err)
		}
		if empty(document) {
			continue
		}
		checked++
		if _, kind, err := decoder.Decode(document, nil, nil); err != nil {
			wrong++
			fmt.Printf("%v: %v\n", kind, err)
		}
	}
	fmt.Printf("%d checked, %d wrong\n", checked, wrong)
	if wrong > 0 {
		os.Exit(1)
	}
}

// empty tells whether a document holds nothing but comments and blank lines.
func empty(document []byte) bool {
	for _, line := range bytes.Split(document, []byte("\n")) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && !bytes.Equal(line, []byte("---")) {
			return false
		}
	}
	return true
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(2)
}
