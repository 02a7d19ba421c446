package config

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	api "k8s.io/kubernetes/pkg/apis/core"
	kubetypes "k8s.io/kubernetes/pkg/kubelet/types"
)

type oracleObserver struct{}

func (oracleObserver) ObservedPodOnWatch(pod *v1.Pod, when time.Time) {}

// OracleMerger gives the updates that one list after another comes to.
type OracleMerger struct {
	storage *podStorage
	updates chan kubetypes.PodUpdate
}

func NewOracleMerger() *OracleMerger {
	updates := make(chan kubetypes.PodUpdate, 50)
	return &OracleMerger{newPodStorage(updates, record.NewFakeRecorder(10000), oracleObserver{}), updates}
}

func (m *OracleMerger) Merge(source string, pods []*v1.Pod) []kubetypes.PodUpdate {
	if err := m.storage.Merge(context.Background(), source, sourceUpdate{Pods: pods}); err != nil {
		panic(err)
	}
	var got []kubetypes.PodUpdate
	for {
		select {
		case u := <-m.updates:
			got = append(got, u)
		default:
			return got
		}
	}
}

func OracleManifest(data []byte, source string, isFile bool, node string) (bool, *v1.Pod, error) {
	return tryDecodeSinglePod(klog.Background(), data, func(logger klog.Logger, pod *api.Pod) error {
		return applyDefaults(logger, pod, source, isFile, types.NodeName(node))
	})
}

func OracleManifestList(data []byte, source string, node string) (bool, v1.PodList, error) {
	return tryDecodePodList(klog.Background(), data, func(logger klog.Logger, pod *api.Pod) error {
		return applyDefaults(logger, pod, source, false, types.NodeName(node))
	})
}
