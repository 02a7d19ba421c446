package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	configapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	configscheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
)

const readBufferBytes = 1 << 20

// cluster is what a snapshot says, sorted by what the framework needs it for.
type cluster struct {
	objects          []runtime.Object
	nodes            []*v1.Node
	running, pending []*v1.Pod
}

// readCluster reads YAML or JSON documents; Lists are opened.
func readCluster(paths []string) cluster {
	var c cluster
	for _, path := range paths {
		c.objects = append(c.objects, readFile(path)...)
	}
	for _, object := range c.objects {
		switch o := object.(type) {
		case *v1.Node:
			c.nodes = append(c.nodes, o)
		case *v1.Pod:
			// As kube-scheduler's own informer: finished Pods are not listed.
			if o.Status.Phase == v1.PodSucceeded || o.Status.Phase == v1.PodFailed {
				continue
			}
			if o.Spec.NodeName != "" {
				c.running = append(c.running, o)
			} else {
				c.pending = append(c.pending, o)
			}
		}
	}
	sort.Slice(c.nodes, func(i, j int) bool { return c.nodes[i].Name < c.nodes[j].Name })
	return c
}

func readFile(path string) []runtime.Object {
	file, err := os.Open(path)
	die(err)
	defer file.Close()
	decoder := utilyaml.NewYAMLOrJSONDecoder(bufio.NewReader(file), readBufferBytes)
	var objects []runtime.Object
	for {
		var raw runtime.RawExtension
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return objects
		} else if err != nil {
			die(fmt.Errorf("%s: %w", path, err))
		}
		if len(raw.Raw) > 0 && string(raw.Raw) != "null" {
			objects = append(objects, open(raw.Raw)...)
		}
	}
}

// open decodes one document, or each item of a List.
func open(document []byte) []runtime.Object {
	decode := clientscheme.Codecs.UniversalDeserializer()
	object, _, err := decode.Decode(document, nil, nil)
	die(err)
	if !meta.IsListType(object) {
		return []runtime.Object{object}
	}
	items, err := meta.ExtractList(object)
	die(err)
	for i, item := range items {
		if unknown, ok := item.(*runtime.Unknown); ok {
			items[i], _, err = decode.Decode(unknown.Raw, nil, nil)
			die(err)
		}
	}
	return items
}

// readConfiguration reads a KubeSchedulerConfiguration; the default one without a path.
func readConfiguration(path string) *configapi.KubeSchedulerConfiguration {
	if path == "" {
		configuration, err := latest.Default()
		die(err)
		return configuration
	}
	data, err := os.ReadFile(path)
	die(err)
	object, kind, err := configscheme.Codecs.UniversalDecoder().Decode(data, nil, nil)
	die(err)
	configuration, ok := object.(*configapi.KubeSchedulerConfiguration)
	if !ok {
		die(fmt.Errorf("not a KubeSchedulerConfiguration: %v", kind))
	}
	die(validation.ValidateKubeSchedulerConfiguration(configuration))
	return configuration
}
