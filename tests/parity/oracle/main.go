// Command oracle asks kube-scheduler's own framework what it would decide for every pending Pod
// of a cluster snapshot, and prints the answers as JSON, one line a Pod. It starts no server and
// needs no cluster.
//
//	oracle [-config FILE] [-preempt] SNAPSHOT...
//
// A snapshot is YAML or JSON documents or Lists: Nodes, Pods (one with spec.nodeName runs there,
// one without is pending), and whatever else the plugins read.
//
// Every Node is judged: kube-scheduler's shortcuts (a sample of large clusters, the nominated
// Node first, a single feasible Node not scored) are left out. Each Pod is decided by itself.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// Decide synchronously, so that an answer is complete when the call returns.
const featureGates = "SchedulerAsyncPreemption=false,SchedulerAsyncAPICalls=false"

func main() {
	configPath := flag.String("config", "", "a KubeSchedulerConfiguration (default: kube-scheduler's own)")
	preempt := flag.Bool("preempt", false, "ask PostFilter about Pods that fit nowhere")
	klog.InitFlags(nil)
	flag.Parse()
	die(utilfeature.DefaultMutableFeatureGate.Set(featureGates))
	metrics.Register()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := readCluster(flag.Args())
	j := newJudge(ctx, readConfiguration(*configPath), c)
	encoder := json.NewEncoder(os.Stdout)
	for _, pod := range c.pending {
		die(encoder.Encode(j.decide(ctx, pod, *preempt)))
	}
}

func die(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}
