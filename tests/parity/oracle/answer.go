package main

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

const defaultSchedulerName = "default-scheduler"

type nodeAnswer struct {
	Code    string           `json:"code,omitempty"`
	Plugin  string           `json:"plugin,omitempty"`
	Reasons []string         `json:"reasons,omitempty"`
	Scores  map[string]int64 `json:"scores,omitempty"`
	Total   *int64           `json:"total,omitempty"`
}

type postFilterAnswer struct {
	Code      string   `json:"code"`
	Message   string   `json:"message,omitempty"`
	Nominated string   `json:"nominatedNodeName,omitempty"`
	Victims   []string `json:"victims,omitempty"`
}

type answer struct {
	Pod            string                `json:"pod"`
	PreFilterCode  string                `json:"preFilterCode,omitempty"`
	PreFilterMsg   string                `json:"preFilterMessage,omitempty"`
	PreFilterBy    string                `json:"preFilterPlugin,omitempty"`
	PreFilterNodes []string              `json:"preFilterNodes,omitempty"`
	Nodes          map[string]nodeAnswer `json:"nodes,omitempty"`
	Best           []string              `json:"best,omitempty"`
	FitError       string                `json:"fitError,omitempty"`
	PostFilter     *postFilterAnswer     `json:"postFilter,omitempty"`
	Error          string                `json:"error,omitempty"`
}

// attempt is one Pod being decided; what is decided changes nothing for the next one.
type attempt struct {
	judge
	framework framework.Framework
	state     fwk.CycleState
	pod       *v1.Pod
	nodeCount int
	diagnosis framework.Diagnosis
	preempt   bool
	answer
}

func (j judge) decide(ctx context.Context, pod *v1.Pod, preempt bool) answer {
	name := pod.Spec.SchedulerName
	if name == "" {
		name = defaultSchedulerName
	}
	a := attempt{
		judge:     j,
		framework: j.frameworks[name],
		state:     framework.NewCycleState(),
		pod:       pod,
		diagnosis: framework.Diagnosis{NodeToStatus: framework.NewDefaultNodeToStatus()},
		preempt:   preempt,
		answer:    answer{Pod: pod.Namespace + "/" + pod.Name},
	}
	if a.framework == nil {
		a.Error = "no profile for scheduler name " + name
		return a.answer
	}
	if nodes, goesOn := a.preFilter(ctx); goesOn {
		if feasible, goesOn := a.filter(ctx, nodes); goesOn {
			a.score(ctx, feasible)
		}
	}
	return a.answer
}

// preFilter gives the Nodes to look at, by name, so that an error is always the same Node's.
func (a *attempt) preFilter(ctx context.Context) ([]fwk.NodeInfo, bool) {
	nodes, err := a.snapshot.NodeInfos().List()
	die(err)
	a.nodeCount = len(nodes)
	result, status, restricting := a.framework.RunPreFilterPlugins(ctx, a.state, a.pod)
	if !status.IsSuccess() {
		a.PreFilterCode, a.PreFilterMsg, a.PreFilterBy = status.Code().String(), status.Message(), status.Plugin()
		if !status.IsRejected() {
			a.Error = status.Message()
			return nil, false
		}
		a.diagnosis.NodeToStatus.SetAbsentNodesStatus(status)
		a.diagnosis.PreFilterMsg = status.Message()
		a.diagnosis.AddPluginStatus(status)
		a.postFilter(ctx)
		return nil, false
	}
	if !result.AllNodes() {
		nodes = nil
		for name := range result.NodeNames {
			a.PreFilterNodes = append(a.PreFilterNodes, name)
			if node, err := a.snapshot.NodeInfos().Get(name); err == nil {
				nodes = append(nodes, node)
			}
		}
		sort.Strings(a.PreFilterNodes)
		reason := fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(restricting))
		a.diagnosis.NodeToStatus.SetAbsentNodesStatus(fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reason))
	}
	return slices.SortedFunc(slices.Values(nodes), func(x, y fwk.NodeInfo) int {
		return strings.Compare(x.Node().Name, y.Node().Name)
	}), true
}

func (a *attempt) filter(ctx context.Context, nodes []fwk.NodeInfo) ([]fwk.NodeInfo, bool) {
	a.Nodes = map[string]nodeAnswer{}
	var feasible []fwk.NodeInfo
	for _, node := range nodes {
		name, status := node.Node().Name, a.framework.RunFilterPluginsWithNominatedPods(ctx, a.state, a.pod, node)
		if status.IsSuccess() {
			feasible = append(feasible, node)
			continue
		}
		// Several short scalar resources are listed in the order of a map.
		reasons := slices.Sorted(slices.Values(status.Reasons()))
		a.Nodes[name] = nodeAnswer{Code: status.Code().String(), Plugin: status.Plugin(), Reasons: reasons}
		if status.Code() == fwk.Error {
			a.Error = status.Message()
			return nil, false
		}
		a.diagnosis.NodeToStatus.Set(name, status)
		a.diagnosis.AddPluginStatus(status)
	}
	if len(feasible) == 0 {
		a.postFilter(ctx)
		return nil, false
	}
	return feasible, true
}

func (a *attempt) score(ctx context.Context, feasible []fwk.NodeInfo) {
	if status := a.framework.RunPreScorePlugins(ctx, a.state, a.pod, feasible); !status.IsSuccess() {
		a.Error = status.Message()
		return
	}
	nodes, status := a.framework.RunScorePlugins(ctx, a.state, a.pod, feasible)
	if !status.IsSuccess() {
		a.Error = status.Message()
		return
	}
	best := int64(-1)
	for _, node := range nodes {
		scores, total := map[string]int64{}, node.TotalScore
		for _, score := range node.Scores {
			scores[score.Name] = score.Score
		}
		a.Nodes[node.Name] = nodeAnswer{Scores: scores, Total: &total}
		if total > best {
			best, a.Best = total, nil
		}
		if total == best {
			a.Best = append(a.Best, node.Name)
		}
	}
	sort.Strings(a.Best)
}

// postFilter ends an attempt that found no Node: with its text, and with what would make room.
func (a *attempt) postFilter(ctx context.Context) {
	a.FitError = a.fitError()
	if !a.preempt || !a.framework.HasPostFilterPlugins() {
		return
	}
	a.evictions.take()
	result, status := a.framework.RunPostFilterPlugins(ctx, a.state, a.pod, a.diagnosis.NodeToStatus)
	a.PostFilter = &postFilterAnswer{
		Code: status.Code().String(), Message: status.Message(), Victims: a.evictions.take(),
	}
	if result != nil && result.NominatingInfo != nil {
		a.PostFilter.Nominated = result.NominatedNodeName
	}
	a.diagnosis.PostFilterMsg = status.Message()
	a.FitError = a.fitError()
}

func (a *attempt) fitError() string {
	return (&framework.FitError{Pod: a.pod, NumAllNodes: a.nodeCount, Diagnosis: a.diagnosis}).Error()
}
