package main

import (
	"context"
	"fmt"
	"sort"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	configapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/queuesort"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

const (
	settleTimeout  = 20 * time.Second
	settleInterval = 5 * time.Millisecond
	metricsBuffer  = 1000
)

// judge has a framework for each profile, and everything they read.
type judge struct {
	snapshot   *internalcache.Snapshot
	frameworks map[string]framework.Framework
	evictions  *evictions
}

// evictions collects what preemption deletes; nothing is deleted.
type evictions struct{ victims []string }

func (e *evictions) take() []string {
	victims := append([]string{}, e.victims...)
	e.victims = nil
	sort.Strings(victims)
	return victims
}

// watch stands in for the API server's answers to deletes and patches of Pods.
func (e *evictions) watch(client *fake.Clientset) {
	client.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		deletion := action.(clienttesting.DeleteAction)
		e.victims = append(e.victims, deletion.GetNamespace()+"/"+deletion.GetName())
		return true, nil, nil
	})
	client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &v1.Pod{}, nil
	})
}

func newJudge(ctx context.Context, configuration *configapi.KubeSchedulerConfiguration, c cluster) judge {
	client := fake.NewClientset(c.objects...)
	j := judge{
		snapshot:   internalcache.NewSnapshot(c.running, c.nodes),
		frameworks: map[string]framework.Framework{},
		evictions:  &evictions{},
	}
	j.evictions.watch(client)
	informerFactory := informers.NewSharedInformerFactory(client, 0)
	claims := assumecache.NewAssumeCache(
		klog.FromContext(ctx), informerFactory.Resource().V1().ResourceClaims().Informer(), "ResourceClaim", "", nil)
	slices, err := tracker.StartTracker(
		ctx, tracker.Options{SliceInformer: informerFactory.Resource().V1().ResourceSlices(), KubeClient: client})
	die(err)
	devices := dynamicresources.NewDRAManager(ctx, claims, slices, informerFactory)
	// As kube-scheduler's event handlers do: classes stand for extended resources.
	classes, err := informerFactory.Resource().V1().DeviceClasses().Informer().AddEventHandler(
		devices.DeviceClassResolver().(*extendedresourcecache.ExtendedResourceCache))
	die(err)
	volumes := nodevolumelimits.NewCSIManager(informerFactory.Storage().V1().CSINodes().Lister())
	queue := internalqueue.NewSchedulingQueue((&queuesort.PrioritySort{}).Less, informerFactory)
	for i := range configuration.Profiles {
		profile := &configuration.Profiles[i]
		f, err := frameworkruntime.NewFramework(ctx, plugins.NewInTreeRegistry(), profile,
			frameworkruntime.WithClientSet(client),
			frameworkruntime.WithEventRecorder(&events.FakeRecorder{}),
			frameworkruntime.WithInformerFactory(informerFactory),
			frameworkruntime.WithSharedDRAManager(devices),
			frameworkruntime.WithSharedCSIManager(volumes),
			frameworkruntime.WithSnapshotSharedLister(j.snapshot),
			frameworkruntime.WithPodNominator(queue),
			frameworkruntime.WithPodActivator(queue),
			frameworkruntime.WithWaitingPods(frameworkruntime.NewWaitingPodsMap()),
			frameworkruntime.WithPodsInPreBind(frameworkruntime.NewPodsInPreBindMap()),
			frameworkruntime.WithPodGroupManager(internalcache.New(ctx, nil, false)),
			frameworkruntime.WithMetricsRecorder(metrics.NewMetricsAsyncRecorder(metricsBuffer, time.Second, ctx.Done())),
			frameworkruntime.WithParallelism(1),
		)
		die(err)
		j.frameworks[profile.SchedulerName] = f
	}
	informerFactory.Start(ctx.Done())
	informerFactory.WaitForCacheSync(ctx.Done())
	settle(devices, classes, c.objects)
	// As in a live scheduler, a nominated Pod counts on its Node while the queue knows it.
	for _, pod := range c.pending {
		queue.Add(ctx, pod)
	}
	return j
}

// settle waits until the claim cache and the slice tracker, which hear of objects after the
// informers do, know them all.
func settle(devices fwk.SharedDRAManager, classes cache.ResourceEventHandlerRegistration, objects []runtime.Object) {
	claimCount, sliceCount := 0, 0
	taken := map[[3]string]bool{}
	for _, object := range objects {
		switch object := object.(type) {
		case *resourceapi.ResourceClaim:
			claimCount++
			if object.Status.Allocation == nil {
				continue
			}
			for _, result := range object.Status.Allocation.Devices.Results {
				if result.ShareID == nil && (result.AdminAccess == nil || !*result.AdminAccess) {
					taken[[3]string{result.Driver, result.Pool, result.Device}] = true
				}
			}
		case *resourceapi.ResourceSlice:
			sliceCount++
		}
	}
	for deadline := time.Now().Add(settleTimeout); ; time.Sleep(settleInterval) {
		claims, err := devices.ResourceClaims().List()
		die(err)
		slices, err := devices.ResourceSlices().ListWithDeviceTaintRules()
		die(err)
		// Fails while an allocation is being counted.
		allocated, err := devices.ResourceClaims().GatherAllocatedState()
		isCounted := err == nil && len(allocated.AllocatedDevices) == len(taken)
		if len(claims) == claimCount && len(slices) == sliceCount && isCounted && classes.HasSynced() {
			return
		}
		if time.Now().After(deadline) {
			die(fmt.Errorf("device caches never settled: %d of %d claims, %d of %d slices",
				len(claims), claimCount, len(slices), sliceCount))
		}
	}
}
