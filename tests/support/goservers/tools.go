//go:build tools

// Package goservers pins the servers of Kubernetes and etcd that tests build from their published modules. It is not
// a program: it names them, so that go.mod keeps them and all they need.
package goservers

import (
	_ "go.etcd.io/etcd/server/v3"
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
)
