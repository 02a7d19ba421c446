package main

import (
	"bufio"
	"encoding/json"
	"os"

	v1 "k8s.io/api/core/v1"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/kubelet/config"
)

type list struct {
	Source string    `json:"source"`
	Pods   []*v1.Pod `json:"pods"`
}
type question struct {
	Lists    []list  `json:"lists"`
	Manifest *string `json:"manifest"`
	Source   string  `json:"source"`
	Place    string  `json:"place"`
	Node     string  `json:"node"`
}
type operation struct {
	Operation string   `json:"operation"`
	Uids      []string `json:"uids"`
}

var names = []string{"ADD", "DELETE", "REMOVE", "UPDATE", "RECONCILE"}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		var q question
		if err := json.Unmarshal(in.Bytes(), &q); err != nil {
			panic(err)
		}
		answer := map[string]any{}
		if q.Manifest != nil {
			parsed, pod, err := config.OracleManifest([]byte(*q.Manifest), q.Place, q.Source == "file", q.Node)
			if err == nil {
				answer["pods"] = []*v1.Pod{pod}
			} else if q.Source == "http" && !parsed {
				multi, pods, listErr := config.OracleManifestList([]byte(*q.Manifest), q.Place, q.Node)
				if multi && listErr == nil {
					answer["pods"] = pods.Items
				} else if multi {
					answer["error"] = listErr.Error()
				} else {
					answer["error"] = err.Error()
				}
			} else {
				answer["error"] = err.Error()
			}
		} else {
			m := config.NewOracleMerger()
			var all [][]operation
			for _, l := range q.Lists {
				ops := []operation{}
				for _, u := range m.Merge(l.Source, l.Pods) {
					uids := []string{}
					for _, p := range u.Pods {
						uids = append(uids, string(p.UID))
					}
					ops = append(ops, operation{names[u.Op], uids})
				}
				all = append(all, ops)
			}
			answer["updates"] = all
		}
		if err := out.Encode(answer); err != nil {
			panic(err)
		}
	}
}
