// The AWS SDK for Go v2, as Debian has it (2022): before throttling reasons, and before AWS_ENDPOINT_URL.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

var (
	ctx   = context.Background()
	keys  = credentials.NewStaticCredentialsProvider("any", "any", "")
	name  = aws.String("orders-go")
	fast  = client(url, 0)
	once  = client(slowURL, 1)
	again = client(slowURL, 0)
)

// Order is an item; Filling makes it long.
type Order struct {
	Customer string         `dynamodbav:"customer"`
	At       int            `dynamodbav:"at"`
	State    string         `dynamodbav:"state,omitempty"`
	Amount   float64        `dynamodbav:"amount,omitempty"`
	Bytes    []byte         `dynamodbav:"bytes,omitempty"`
	Yes      bool           `dynamodbav:"yes,omitempty"`
	Words    []string       `dynamodbav:"words,stringset,omitempty"`
	Deep     map[string]any `dynamodbav:"deep,omitempty"`
	Filling  string         `dynamodbav:"filling,omitempty"`
}

type values = map[string]types.AttributeValue

func client(endpoint string, attempts int) *dynamodb.Client {
	options := dynamodb.Options{
		Region: "us-east-1", Credentials: keys, EndpointResolver: dynamodb.EndpointResolverFromURL(endpoint),
	}
	if attempts > 0 {
		options.Retryer = retry.AddWithMaxAttempts(retry.NewStandard(), attempts)
	}
	return dynamodb.New(options)
}

func valuesOf(item any) values {
	made, err := attributevalue.MarshalMap(item)
	if err != nil {
		panic(err)
	}
	return made
}

func order(customer string, at int) values { return valuesOf(Order{Customer: customer, At: at}) }

func put(on *dynamodb.Client, table string, item Order) error {
	_, err := on.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: valuesOf(item)})
	return err
}

func ats(items []values) []int {
	var orders []Order
	if err := attributevalue.UnmarshalListOfMaps(items, &orders); err != nil {
		panic(err)
	}
	found := []int{}
	for _, one := range orders {
		found = append(found, one.At)
	}
	return found
}

func definition(table string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName: &table,
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("customer"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("at"), KeyType: types.KeyTypeRange},
		},
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("customer"), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String("at"), AttributeType: types.ScalarAttributeTypeN},
		},
		BillingMode: types.BillingModePayPerRequest,
	}
}

func made(on *dynamodb.Client, input *dynamodb.CreateTableInput) error {
	_, err := on.CreateTable(ctx, input)
	return err
}

func create() (string, error) {
	input := definition(*name)
	input.AttributeDefinitions = append(input.AttributeDefinitions, types.AttributeDefinition{
		AttributeName: aws.String("state"), AttributeType: types.ScalarAttributeTypeS,
	})
	input.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{{
		IndexName: aws.String("by-state"),
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String("state"), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String("at"), KeyType: types.KeyTypeRange},
		},
		Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
	}}
	input.StreamSpecification = &types.StreamSpecification{
		StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages,
	}
	if err := made(fast, input); err != nil {
		return "", err
	}
	change := &dynamodb.UpdateTableInput{TableName: name, TableClass: types.TableClassStandardInfrequentAccess}
	if _, err := fast.UpdateTable(ctx, change); err != nil {
		return "", err
	}
	found, err := fast.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: name})
	if err != nil {
		return "", err
	}
	class := found.Table.TableClassSummary.TableClass
	return "", require(class == types.TableClassStandardInfrequentAccess && found.Table.CreationDateTime != nil, found.Table)
}

func waiters() (string, error) {
	table := aws.String("waited-for-go")
	described := &dynamodb.DescribeTableInput{TableName: table}
	if err := made(fast, definition(*table)); err != nil {
		return "", err
	}
	if err := dynamodb.NewTableExistsWaiter(fast).Wait(ctx, described, time.Minute); err != nil {
		return "", err
	}
	if _, err := fast.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: table}); err != nil {
		return "", err
	}
	return "", dynamodb.NewTableNotExistsWaiter(fast).Wait(ctx, described, time.Minute)
}

func items() (string, error) {
	one := Order{
		Customer: "ann", At: 1, Amount: -1.5e-3, Bytes: []byte{0, 255}, Yes: true, Words: []string{"a"},
		Deep: map[string]any{"x": []any{"y", 1.0, nil}},
	}
	if err := put(fast, *name, one); err != nil {
		return "", err
	}
	got, err := fast.GetItem(ctx, &dynamodb.GetItemInput{TableName: name, Key: order("ann", 1), ConsistentRead: aws.Bool(true)})
	if err != nil {
		return "", err
	}
	var back Order
	if err := attributevalue.UnmarshalMap(got.Item, &back); err != nil || !reflect.DeepEqual(back, one) {
		return "", fmt.Errorf("%w: %+v", err, back)
	}
	update := expression.Set(expression.Name("state"), expression.Value("sent"))
	made, err := expression.NewBuilder().WithUpdate(update).Build()
	if err != nil {
		return "", err
	}
	changed, err := fast.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: name, Key: order("ann", 1), UpdateExpression: made.Update(), ReturnValues: types.ReturnValueUpdatedNew,
		ExpressionAttributeNames: made.Names(), ExpressionAttributeValues: made.Values(),
	})
	if err != nil || !reflect.DeepEqual(changed.Attributes, valuesOf(map[string]string{"state": "sent"})) {
		return "", fmt.Errorf("%w: %+v", err, changed)
	}
	gone, err := fast.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: name, Key: order("ann", 1), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	if err != nil {
		return "", err
	}
	return "", require(*gone.ConsumedCapacity.CapacityUnits >= 1, gone)
}

func query() (string, error) {
	for at := 0; at < 7; at++ {
		if err := put(fast, *name, Order{Customer: "bob", At: at, State: "sent"}); err != nil {
			return "", err
		}
	}
	condition := expression.Key("customer").Equal(expression.Value("bob")).
		And(expression.Key("at").GreaterThanEqual(expression.Value(2)))
	asked, err := expression.NewBuilder().WithKeyCondition(condition).Build()
	if err != nil {
		return "", err
	}
	input := &dynamodb.QueryInput{
		TableName: name, KeyConditionExpression: asked.KeyCondition(), Limit: aws.Int32(2),
		ExpressionAttributeNames: asked.Names(), ExpressionAttributeValues: asked.Values(),
	}
	var found []values
	for pages := dynamodb.NewQueryPaginator(fast, input); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return "", err
		}
		found = append(found, page.Items...)
	}
	if err := require(reflect.DeepEqual(ats(found), []int{2, 3, 4, 5, 6}), found); err != nil {
		return "", err
	}
	index, err := fast.Query(ctx, &dynamodb.QueryInput{
		TableName: name, IndexName: aws.String("by-state"), KeyConditionExpression: aws.String("#s = :s"),
		ExpressionAttributeNames:  map[string]string{"#s": "state"},
		ExpressionAttributeValues: values{":s": &types.AttributeValueMemberS{Value: "sent"}},
		ScanIndexForward:          aws.Bool(false), Limit: aws.Int32(2),
	})
	if err != nil {
		return "", err
	}
	return "", require(reflect.DeepEqual(ats(index.Items), []int{6, 5}), index)
}

func scan() (string, error) {
	pages, count := dynamodb.NewScanPaginator(fast, &dynamodb.ScanInput{TableName: name, Limit: aws.Int32(3)}), 0
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return "", err
		}
		count += len(page.Items)
	}
	if count != 7 {
		return "", fmt.Errorf("%d items in pages", count)
	}
	for segment := int32(0); segment < 4; segment++ {
		part, err := fast.Scan(ctx, &dynamodb.ScanInput{
			TableName: name, Segment: aws.Int32(segment), TotalSegments: aws.Int32(4),
			FilterExpression:          aws.String("#at > :at"),
			ExpressionAttributeNames:  map[string]string{"#at": "at"},
			ExpressionAttributeValues: values{":at": &types.AttributeValueMemberN{Value: "4"}},
		})
		if err != nil {
			return "", err
		}
		count -= int(part.ScannedCount-part.Count) + len(part.Items)
	}
	return "", require(count == 0, count)
}

func codeOf(err error) string {
	var refused smithy.APIError
	if errors.As(err, &refused) {
		return refused.ErrorCode()
	}
	return ""
}

func main() {
	names, err := namesOf(os.Args[1])
	if err != nil {
		panic(err)
	}
	checks := map[string]check{
		"create": create, "waiters": waiters, "items": items, "query": query, "scan": scan, "batches": batches,
		"unprocessed": unprocessed, "transactions": transactions, "conditions": conditions, "ttl": ttl,
		"streams": streams, "throttle": throttle, "retries": retries, "partiql": partiql,
	}
	lacks := map[string]string{"reasons": "the SDK knows them since 2025; this version is of 2022"}
	tell("aws-sdk-go-v2 "+aws.SDKVersion, names, checks, lacks)
}
