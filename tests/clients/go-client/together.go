// What is done to several items together, what is refused, and what tables are set to.
package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

func writes(customer string, count int, filling string) []types.WriteRequest {
	var made []types.WriteRequest
	for at := 0; at < count; at++ {
		item := valuesOf(Order{Customer: customer, At: at, Filling: filling})
		made = append(made, types.WriteRequest{PutRequest: &types.PutRequest{Item: item}})
	}
	return made
}

func batches() (string, error) {
	all := writes("cleo", 100, "")
	for ; len(all) > 0; all = all[25:] {
		input := &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{*name: all[:25]}}
		if done, err := fast.BatchWriteItem(ctx, input); err != nil || len(done.UnprocessedItems) > 0 {
			return "", fmt.Errorf("%w: %+v", err, done)
		}
	}
	var asked []values
	for at := 0; at < 100; at++ {
		asked = append(asked, order("cleo", at))
	}
	found, err := fast.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
		RequestItems: map[string]types.KeysAndAttributes{*name: {Keys: asked}},
	})
	if err != nil {
		return "", err
	}
	return "", require(len(found.Responses[*name]) == 100, found)
}

func unprocessed() (string, error) {
	table, handedOut := "slow-go-batch", 0
	if err := made(once, definition(table)); err != nil {
		return "", err
	}
	left := map[string][]types.WriteRequest{table: writes("hot", 25, strings.Repeat("x", 900))}
	for len(left) > 0 {
		done, err := again.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: left})
		if codeOf(err) == "ThrottlingException" { // the whole batch
			continue
		}
		if err != nil {
			return "", err
		}
		left = done.UnprocessedItems
		handedOut += len(left)
	}
	return "handed out as `UnprocessedItems`, to be sent again", require(handedOut > 0, "none was refused")
}

func transactions() (string, error) {
	write := func(one *types.Put, other ...types.TransactWriteItem) error {
		items := append([]types.TransactWriteItem{{Put: one}}, other...)
		_, err := fast.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: items})
		return err
	}
	if err := write(&types.Put{TableName: name, Item: order("dan", 1)}); err != nil {
		return "", err
	}
	twice := &types.Put{
		TableName: name, Item: order("dan", 1), ConditionExpression: aws.String("attribute_not_exists(customer)"),
	}
	err := write(twice, types.TransactWriteItem{Delete: &types.Delete{TableName: name, Key: order("dan", 2)}})
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) || *cancelled.CancellationReasons[0].Code != "ConditionalCheckFailed" {
		return "", fmt.Errorf("not cancelled: %w", err)
	}
	read, err := fast.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{
		TransactItems: []types.TransactGetItem{{Get: &types.Get{TableName: name, Key: order("dan", 1)}}},
	})
	if err != nil {
		return "", err
	}
	return "`CancellationReasons`", require(len(read.Responses[0].Item) == 2, read)
}

func conditions() (string, error) {
	_, err := fast.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: name, Item: order("dan", 1), ConditionExpression: aws.String("attribute_not_exists(customer)"),
	})
	var failed *types.ConditionalCheckFailedException
	return "`*types.ConditionalCheckFailedException`; no item in this version", require(errors.As(err, &failed), err)
}

func ttl() (string, error) {
	said := &types.TimeToLiveSpecification{Enabled: aws.Bool(true), AttributeName: aws.String("gone_after")}
	_, err := fast.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: name, TimeToLiveSpecification: said})
	if err != nil {
		return "", err
	}
	found, err := fast.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: name})
	if err != nil {
		return "", err
	}
	return "", require(found.TimeToLiveDescription.TimeToLiveStatus == types.TimeToLiveStatusEnabled, found)
}

func streams() (string, error) {
	reader := dynamodbstreams.New(dynamodbstreams.Options{
		Region: "us-east-1", Credentials: keys, EndpointResolver: dynamodbstreams.EndpointResolverFromURL(url),
	})
	listed, err := reader.ListStreams(ctx, &dynamodbstreams.ListStreamsInput{TableName: name})
	if err != nil {
		return "", err
	}
	arn, events := listed.Streams[0].StreamArn, []streamtypes.OperationType{}
	stream, err := reader.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: arn})
	if err != nil {
		return "", err
	}
	for _, shard := range stream.StreamDescription.Shards {
		at, err := reader.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{
			StreamArn: arn, ShardId: shard.ShardId, ShardIteratorType: streamtypes.ShardIteratorTypeTrimHorizon,
		})
		if err != nil {
			return "", err
		}
		read, err := reader.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: at.ShardIterator})
		if err != nil {
			return "", err
		}
		for _, record := range read.Records {
			if who, _ := record.Dynamodb.Keys["customer"].(*streamtypes.AttributeValueMemberS); who.Value == "ann" {
				events = append(events, record.EventName)
			}
		}
	}
	return "", require(fmt.Sprint(events) == "[INSERT MODIFY REMOVE]", events)
}

func throttle() (string, error) {
	units := definition("slow-go-units")
	units.BillingMode = types.BillingModeProvisioned
	units.ProvisionedThroughput = &types.ProvisionedThroughput{ReadCapacityUnits: aws.Int64(1), WriteCapacityUnits: aws.Int64(1)}
	hot, provisioned := putMany(definition("slow-go-hot")), putMany(units)
	var typed *types.ProvisionedThroughputExceededException
	if codeOf(hot) != "ThrottlingException" || !errors.As(provisioned, &typed) {
		return "", fmt.Errorf("%v, %v", hot, provisioned)
	}
	return "`smithy.APIError` with the code `ThrottlingException`, `*types.ProvisionedThroughputExceededException`", nil
}

func putMany(table *dynamodb.CreateTableInput) error {
	if err := made(once, table); err != nil {
		return err
	}
	for count := 0; count < 200; count++ {
		err := put(once, *table.TableName, Order{Customer: "hot", Filling: strings.Repeat("x", 4_000)})
		if err != nil {
			return err
		}
	}
	return errors.New("it was not refused")
}

func retries() (string, error) {
	table := "slow-go-full"
	if err := made(once, definition(table)); err != nil {
		return "", err
	}
	if err := put(once, table, Order{Customer: "hot", Filling: strings.Repeat("x", filling)}); err != nil {
		return "", err
	}
	before, err := askedFor("PutItem")
	if err != nil {
		return "", err
	}
	refused := put(again, table, Order{Customer: "hot", At: 1})
	after, err := askedFor("PutItem")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d attempts", after-before), require(codeOf(refused) == "ThrottlingException", refused)
}

func partiql() (string, error) {
	found, err := fast.ExecuteStatement(ctx, &dynamodb.ExecuteStatementInput{
		Statement:  aws.String(fmt.Sprintf(`SELECT * FROM "%s" WHERE customer = ?`, *name)),
		Parameters: []types.AttributeValue{&types.AttributeValueMemberS{Value: "dan"}},
	})
	if codeOf(err) == "UnknownOperationException" {
		return "", errNotServed
	}
	if err != nil {
		return "", err
	}
	return "", require(len(found.Items) == 1, found)
}
