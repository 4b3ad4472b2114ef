// The AWS SDK for JavaScript v3, with its document client.
import assert from "node:assert/strict";
import {
  CreateTableCommand,
  DeleteTableCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  DynamoDBClient,
  ListTablesCommand,
  ProvisionedThroughputExceededException,
  ThrottlingException,
  UpdateTableCommand,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
  waitUntilTableNotExists,
} from "@aws-sdk/client-dynamodb";
import {
  DescribeStreamCommand,
  DynamoDBStreamsClient,
  GetRecordsCommand,
  GetShardIteratorCommand,
  ListStreamsCommand,
} from "@aws-sdk/client-dynamodb-streams";
import {
  BatchGetCommand,
  BatchWriteCommand,
  DeleteCommand,
  DynamoDBDocumentClient,
  ExecuteStatementCommand,
  GetCommand,
  PutCommand,
  QueryCommand,
  ScanCommand,
  TransactGetCommand,
  TransactWriteCommand,
  UpdateCommand,
  paginateQuery,
  paginateScan,
} from "@aws-sdk/lib-dynamodb";
import { FILLING, NotServed, SLOW_URL, URL_, WHERE, ats, attemptsOf, range, reasonsOf, refusedBy, tell, times } from "./told.mjs";

const low = new DynamoDBClient({ endpoint: URL_, ...WHERE });
const fast = DynamoDBDocumentClient.from(low, { marshallOptions: { removeUndefinedValues: true } });
const once = DynamoDBDocumentClient.from(new DynamoDBClient({ endpoint: SLOW_URL, maxAttempts: 1, ...WHERE }));
const again = DynamoDBDocumentClient.from(new DynamoDBClient({ endpoint: SLOW_URL, ...WHERE }));
const TableName = "orders-sdk-v3";
const KeySchema = [
  { AttributeName: "customer", KeyType: "HASH" },
  { AttributeName: "at", KeyType: "RANGE" },
];
const AttributeDefinitions = [
  { AttributeName: "customer", AttributeType: "S" },
  { AttributeName: "at", AttributeType: "N" },
];
const order = (customer, at, more = {}) => ({ customer, at, ...more });
const errors = [];

async function plain(client, name, more = { BillingMode: "PAY_PER_REQUEST" }) {
  await client.send(new CreateTableCommand({ TableName: name, KeySchema, AttributeDefinitions, ...more }));
}

async function paged(pages) {
  const items = [];
  for await (const page of pages) items.push(...page.Items);
  return items;
}

const checks = {
  async create() {
    await low.send(
      new CreateTableCommand({
        TableName,
        KeySchema,
        AttributeDefinitions: [...AttributeDefinitions, { AttributeName: "state", AttributeType: "S" }],
        BillingMode: "PAY_PER_REQUEST",
        LocalSecondaryIndexes: [
          {
            IndexName: "own-state",
            KeySchema: [KeySchema[0], { AttributeName: "state", KeyType: "RANGE" }],
            Projection: { ProjectionType: "ALL" },
          },
        ],
        GlobalSecondaryIndexes: [
          {
            IndexName: "by-state",
            KeySchema: [{ AttributeName: "state", KeyType: "HASH" }, KeySchema[1]],
            Projection: { ProjectionType: "ALL" },
          },
        ],
        StreamSpecification: { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" },
      }),
    );
    await low.send(new UpdateTableCommand({ TableName, TableClass: "STANDARD_INFREQUENT_ACCESS" }));
    const { Table } = await low.send(new DescribeTableCommand({ TableName }));
    assert.equal(Table.TableClassSummary.TableClass, "STANDARD_INFREQUENT_ACCESS");
    assert.ok(Table.CreationDateTime instanceof Date);
    assert.ok((await low.send(new ListTablesCommand({}))).TableNames.includes(TableName));
  },

  async waiters() {
    const name = { TableName: "waited-for-sdk-v3" };
    await plain(low, name.TableName);
    assert.equal((await waitUntilTableExists({ client: low, maxWaitTime: 30 }, name)).state, "SUCCESS");
    await low.send(new DeleteTableCommand(name));
    assert.equal((await waitUntilTableNotExists({ client: low, maxWaitTime: 30 }, name)).state, "SUCCESS");
  },

  async items() {
    const item = order("ann", 1, {
      bytes: new Uint8Array([0, 255]),
      exact: -1.5e-3,
      yes: true,
      nothing: null,
      words: new Set(["a", "b"]),
      numbers: new Set([1, 2]),
      list: ["x", { deep: 1 }],
    });
    await fast.send(new PutCommand({ TableName, Item: item }));
    const Key = order("ann", 1);
    assert.deepEqual((await fast.send(new GetCommand({ TableName, Key, ConsistentRead: true }))).Item, item);
    const changed = await fast.send(
      new UpdateCommand({
        TableName,
        Key,
        UpdateExpression: "SET #s = :s ADD amount :one",
        ExpressionAttributeNames: { "#s": "state" },
        ExpressionAttributeValues: { ":s": "sent", ":one": 1 },
        ReturnValues: "UPDATED_NEW",
      }),
    );
    assert.deepEqual(changed.Attributes, { state: "sent", amount: 1 });
    const gone = await fast.send(
      new DeleteCommand({ TableName, Key, ReturnValues: "ALL_OLD", ReturnConsumedCapacity: "TOTAL" }),
    );
    assert.equal(gone.Attributes.state, "sent");
    assert.ok(gone.ConsumedCapacity.CapacityUnits >= 1);
  },

  async query() {
    await times(7, (at) => fast.send(new PutCommand({ TableName, Item: order("bob", at, { state: "sent" }) })));
    const asked = {
      TableName,
      KeyConditionExpression: "customer = :c AND #at >= :at",
      ExpressionAttributeNames: { "#at": "at" },
      ExpressionAttributeValues: { ":c": "bob", ":at": 2 },
    };
    assert.deepEqual(ats(await paged(paginateQuery({ client: fast, pageSize: 2 }, { ...asked }))), [2, 3, 4, 5, 6]);
    const backwards = await fast.send(new QueryCommand({ ...asked, ScanIndexForward: false, Limit: 2 }));
    assert.deepEqual(ats(backwards.Items), [6, 5]);
    assert.deepEqual(backwards.LastEvaluatedKey, order("bob", 5));
    const found = paginateQuery(
      { client: fast, pageSize: 3 },
      {
        TableName,
        IndexName: "by-state",
        KeyConditionExpression: "#s = :s",
        ExpressionAttributeNames: { "#s": "state" },
        ExpressionAttributeValues: { ":s": "sent" },
      },
    );
    assert.deepEqual(ats(await paged(found)), range(7));
  },

  async scan() {
    assert.equal((await paged(paginateScan({ client: fast, pageSize: 3 }, { TableName }))).length, 7);
    const found = [];
    await times(4, async (Segment) => {
      found.push(...(await fast.send(new ScanCommand({ TableName, Segment, TotalSegments: 4 }))).Items);
    });
    assert.deepEqual(ats(found).sort(), range(7));
    const some = await fast.send(
      new ScanCommand({
        TableName,
        FilterExpression: "#at BETWEEN :a AND :b",
        ExpressionAttributeNames: { "#at": "at" },
        ExpressionAttributeValues: { ":a": 2, ":b": 4 },
      }),
    );
    assert.deepEqual([some.Count, some.ScannedCount], [3, 7]);
  },

  async batches() {
    await times(4, async (part) => {
      const puts = range(25, 25 * part).map((at) => ({ PutRequest: { Item: order("cleo", at) } }));
      const done = await fast.send(new BatchWriteCommand({ RequestItems: { [TableName]: puts } }));
      assert.deepEqual(done.UnprocessedItems, {});
    });
    const Keys = range(100).map((at) => order("cleo", at));
    const found = await fast.send(new BatchGetCommand({ RequestItems: { [TableName]: { Keys } } }));
    assert.equal(found.Responses[TableName].length, 100);
  },

  async unprocessed() {
    const name = "slow-sdk-v3-batch";
    await plain(once, name);
    const filling = "x".repeat(900);
    let left = { [name]: range(25).map((at) => ({ PutRequest: { Item: order("hot", at, { filling }) } })) };
    let handedOut = 0;
    while (Object.keys(left).length) {
      try {
        left = (await again.send(new BatchWriteCommand({ RequestItems: left }))).UnprocessedItems;
        handedOut += Object.keys(left).length;
      } catch (error) {
        assert.ok(error instanceof ThrottlingException, error); // the whole batch
      }
    }
    assert.ok(handedOut, "none was refused");
    const stored = await once.send(
      new QueryCommand({
        TableName: name,
        KeyConditionExpression: "customer = :c",
        ExpressionAttributeValues: { ":c": "hot" },
        Select: "COUNT",
      }),
    );
    assert.equal(stored.Count, 25);
    return "handed out as `UnprocessedItems`, to be sent again";
  },

  async transactions() {
    const put = { TableName, Item: order("dan", 1) };
    await fast.send(new TransactWriteCommand({ TransactItems: [{ Put: put }] }));
    const twice = { Put: { ...put, ConditionExpression: "attribute_not_exists(customer)" } };
    const other = { Delete: { TableName, Key: order("dan", 2) } };
    const error = await refusedBy(
      () => fast.send(new TransactWriteCommand({ TransactItems: [twice, other] })),
      "TransactionCanceledException",
    );
    assert.deepEqual(
      error.CancellationReasons.map((reason) => reason.Code),
      ["ConditionalCheckFailed", "None"],
    );
    const Get = { TableName, Key: order("dan", 1) };
    const read = await fast.send(new TransactGetCommand({ TransactItems: [{ Get }] }));
    assert.deepEqual(ats([read.Responses[0].Item]), [1]);
    return "`CancellationReasons`";
  },

  async conditions() {
    const error = await refusedBy(
      () =>
        fast.send(
          new PutCommand({
            TableName,
            Item: order("dan", 1),
            ConditionExpression: "attribute_not_exists(customer)",
            ReturnValuesOnConditionCheckFailure: "ALL_OLD",
          }),
        ),
      "ConditionalCheckFailedException",
    );
    assert.deepEqual(error.Item.customer, { S: "dan" });
    return `\`${error.name}\`; the item in DynamoDB's own types`;
  },

  async ttl() {
    const TimeToLiveSpecification = { Enabled: true, AttributeName: "gone_after" };
    await low.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }));
    const found = await low.send(new DescribeTimeToLiveCommand({ TableName }));
    assert.deepEqual(found.TimeToLiveDescription, { TimeToLiveStatus: "ENABLED", AttributeName: "gone_after" });
  },

  async streams() {
    const streams = new DynamoDBStreamsClient({ endpoint: URL_, ...WHERE });
    const { Streams } = await streams.send(new ListStreamsCommand({ TableName }));
    const { StreamArn } = Streams[0];
    const { StreamDescription } = await streams.send(new DescribeStreamCommand({ StreamArn }));
    const events = [];
    for (const { ShardId } of StreamDescription.Shards) {
      const place = { StreamArn, ShardId, ShardIteratorType: "TRIM_HORIZON" };
      const { ShardIterator } = await streams.send(new GetShardIteratorCommand(place));
      const { Records } = await streams.send(new GetRecordsCommand({ ShardIterator }));
      events.push(...Records.filter((one) => one.dynamodb.Keys.customer.S === "ann").map((one) => one.eventName));
    }
    assert.deepEqual(events, ["INSERT", "MODIFY", "REMOVE"]);
  },

  async throttle() {
    const ProvisionedThroughput = { ReadCapacityUnits: 1, WriteCapacityUnits: 1 };
    await plain(once, "slow-sdk-v3-hot");
    await plain(once, "slow-sdk-v3-units", { ProvisionedThroughput });
    const putMany = (TableName) => () =>
      times(200, () => once.send(new PutCommand({ TableName, Item: order("hot", 1, { filling: "x".repeat(4_000) }) })));
    errors.push(await refusedBy(putMany("slow-sdk-v3-hot"), "ThrottlingException"));
    errors.push(await refusedBy(putMany("slow-sdk-v3-units"), "ProvisionedThroughputExceededException"));
    assert.ok(errors[0] instanceof ThrottlingException);
    assert.ok(errors[1] instanceof ProvisionedThroughputExceededException);
    assert.ok(errors.every((error) => error.$retryable?.throttling ?? true));
    return errors.map((error) => `\`${error.name}\``).join(", ");
  },

  async reasons() {
    return reasonsOf(errors);
  },

  async retries() {
    const TableName = "slow-sdk-v3-full";
    await plain(once, TableName);
    await once.send(new PutCommand({ TableName, Item: order("hot", 1, { filling: "x".repeat(FILLING) }) }));
    return attemptsOf(() => again.send(new PutCommand({ TableName, Item: order("hot", 2) })));
  },

  async partiql() {
    const Statement = `SELECT * FROM "${TableName}" WHERE customer = ?`;
    try {
      const found = await fast.send(new ExecuteStatementCommand({ Statement, Parameters: ["dan"] }));
      assert.deepEqual(ats(found.Items), [1]);
    } catch (error) {
      throw error.name === "UnknownOperationException" ? new NotServed() : error;
    }
  },
};

await tell(["@aws-sdk/client-dynamodb", "@aws-sdk/lib-dynamodb"], checks, {});
