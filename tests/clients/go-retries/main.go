// How the SDK for Go v2 retries: calls of a client, with its chance, its clock and its pauses in our hands.
//
//	go-retries '[{"endpoint": "http://127.0.0.1:8000", "calls": 1, "chance": 0.5, "attempts": 8}]'
//
// Each has a client of its own, with no retryer but the one that the SDK gives it. It prints the SDK's version, and
// of each call the pauses that it would have made, in milliseconds, and how it ended.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"time"
	_ "unsafe" // for what the SDK keeps to itself, and its own tests replace: chance, time and sleep

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

//go:linkname sdkChance github.com/aws/aws-sdk-go-v2/internal/rand.Reader
var sdkChance io.Reader

//go:linkname sdkNow github.com/aws/aws-sdk-go-v2/internal/sdk.NowTime
var sdkNow func() time.Time

//go:linkname sdkSleep github.com/aws/aws-sdk-go-v2/internal/sdk.SleepWithContext
var sdkSleep func(context.Context, time.Duration) error

type script struct {
	Endpoint string  `json:"endpoint"`
	Calls    int     `json:"calls"`
	Chance   float64 `json:"chance"`
	Attempts int     `json:"attempts"` // 0: as the SDK has it
	Mode     string  `json:"mode"`
	EveryS   float64 `json:"every_s"` // from the end of a call to the next one
}

type outcome struct {
	PausesMs []float64 `json:"pauses_ms"`
	Attempts int       `json:"attempts"`
	Error    *string   `json:"error"`
}

// always draws one number: the 53 bits of which the SDK makes it, in seven bytes.
type always float64

func (chance always) Read(into []byte) (int, error) {
	drawn := uint64(float64(chance) * (1 << 53))
	for at := len(into) - 1; at >= 0; at-- {
		into[at] = byte(drawn)
		drawn >>= 8
	}
	return len(into), nil
}

// silent makes of an answer that says so one that did not come in time, and counts what is sent.
type silent struct{ sent int }

func (watch *silent) Do(request *http.Request) (*http.Response, error) {
	watch.sent++
	answer, err := http.DefaultClient.Do(request)
	if err == nil && answer.Header.Get("silent") != "" {
		answer.Body.Close()
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}
	}
	return answer, err
}

func played(asked script) []outcome {
	watch := &silent{}
	virtual = time.Unix(1_000, 250_000_000)
	client := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", Credentials: credentials.NewStaticCredentialsProvider("any", "any", ""),
		EndpointResolver: dynamodb.EndpointResolverFromURL(asked.Endpoint), HTTPClient: watch,
		RetryMaxAttempts: asked.Attempts, RetryMode: aws.RetryMode(asked.Mode),
	})
	sdkChance = always(asked.Chance)
	found := []outcome{}
	for number := 0; number < asked.Calls; number++ {
		found = append(found, called(client, watch))
		virtual = virtual.Add(time.Duration(asked.EveryS * float64(time.Second)))
	}
	return found
}

func called(client *dynamodb.Client, watch *silent) outcome {
	slept, watch.sent = []float64{}, 0
	key := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "a"}}
	_, err := client.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{TableName: aws.String("orders"), Key: key})
	made := outcome{PausesMs: slept, Attempts: watch.sent}
	var known smithy.APIError
	if errors.As(err, &known) {
		made.Error = aws.String(known.ErrorCode())
	} else if err != nil {
		made.Error = aws.String(err.Error())
	}
	return made
}

// Time passes only where the SDK would have slept, and between calls.
var (
	virtual time.Time
	slept   []float64
)

func main() {
	var scripts []script
	if err := json.Unmarshal([]byte(os.Args[1]), &scripts); err != nil {
		panic(err)
	}
	sdkNow = func() time.Time { return virtual }
	sdkSleep = func(_ context.Context, pause time.Duration) error {
		slept = append(slept, float64(pause)/float64(time.Millisecond))
		virtual = virtual.Add(pause + time.Microsecond) // no sleep ends early, so nobody is held for nothing at all
		return nil
	}
	told := [][]outcome{}
	for _, one := range scripts {
		told = append(told, played(one))
	}
	json.NewEncoder(os.Stdout).Encode(map[string]any{"version": aws.SDKVersion, "told": told})
}
