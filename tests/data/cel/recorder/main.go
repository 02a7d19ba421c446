// Says of each CEL selector and device what kube-scheduler 1.36.3 says.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	resource "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
)

type question struct {
	Expression string          `json:"expression"`
	Driver     string          `json:"driver"`
	Device     resource.Device `json:"device"`
}

type answer struct {
	Stage string `json:"stage"`
	Text  string `json:"text"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			panic(err)
		}
		if err := encoder.Encode(ask(asked)); err != nil {
			panic(err)
		}
	}
}

func ask(asked question) answer {
	compiler := cel.GetCompiler(cel.Features{EnableConsumableCapacity: true})
	compiled := compiler.CompileCELExpression(asked.Expression, cel.Options{})
	if compiled.Error != nil {
		return answer{"compile", compiled.Error.Detail}
	}
	matches, _, err := compiled.DeviceMatches(context.Background(), cel.Device{
		Driver:                   asked.Driver,
		AllowMultipleAllocations: asked.Device.AllowMultipleAllocations,
		Attributes:               asked.Device.Attributes,
		Capacity:                 asked.Device.Capacity,
	})
	if err != nil {
		return answer{"runtime", err.Error()}
	}
	return answer{"", fmt.Sprint(matches)}
}
