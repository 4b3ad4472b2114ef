// dynamodb-toolbox: entities of a table, on the SDK's document client.
import assert from "node:assert/strict";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { Entity } from "dynamodb-toolbox/entity";
import { BatchGetRequest } from "dynamodb-toolbox/entity/actions/batchGet";
import { BatchPutRequest } from "dynamodb-toolbox/entity/actions/batchPut";
import { DeleteItemCommand } from "dynamodb-toolbox/entity/actions/delete";
import { GetItemCommand } from "dynamodb-toolbox/entity/actions/get";
import { PutItemCommand } from "dynamodb-toolbox/entity/actions/put";
import { DeleteTransaction } from "dynamodb-toolbox/entity/actions/transactDelete";
import { execute as executeTransactGet, GetTransaction } from "dynamodb-toolbox/entity/actions/transactGet";
import { PutTransaction } from "dynamodb-toolbox/entity/actions/transactPut";
import { execute as executeTransactWrite } from "dynamodb-toolbox/entity/actions/transactWrite";
import { $add, UpdateItemCommand } from "dynamodb-toolbox/entity/actions/update";
import { any, binary, boolean, item, list, number, set, string } from "dynamodb-toolbox/schema";
import { Table } from "dynamodb-toolbox/table";
import { BatchGetCommand, execute as executeBatchGet } from "dynamodb-toolbox/table/actions/batchGet";
import { BatchWriteCommand, execute as executeBatchWrite } from "dynamodb-toolbox/table/actions/batchWrite";
import { QueryCommand } from "dynamodb-toolbox/table/actions/query";
import { ScanCommand } from "dynamodb-toolbox/table/actions/scan";
import { again, fast, filled, made, once, stored } from "./plain_tables.mjs";
import { ats, attemptsOf, range, reasonsOf, refusedBy, tell, times } from "./told.mjs";

const KEYS = { customer: "S", at: "N" };
const schema = item({
  customer: string().key(),
  at: number().key(),
  state: string().optional(),
  amount: number().optional(),
  bytes: binary().optional(),
  yes: boolean().optional(),
  words: set(string()).optional(),
  list: list(any()).optional(),
  filling: string().optional(),
});

function orders(client, name, indexes = {}) {
  const table = new Table({
    name,
    documentClient: DynamoDBDocumentClient.from(client),
    partitionKey: { name: "customer", type: "string" },
    sortKey: { name: "at", type: "number" },
    indexes,
  });
  return { table, Order: new Entity({ name: "order", table, schema, timestamps: false }) };
}

const byState = { type: "global", partitionKey: { name: "state", type: "string" }, sortKey: { name: "at", type: "number" } };
const { table, Order } = orders(fast, "orders-toolbox", { "by-state": byState });
const order = (customer, at, more = {}) => ({ customer, at, ...more });
const put = (entity, one, options = {}) => entity.build(PutItemCommand).item(one).options(options).send();
const errors = [];

async function slow(client, name, options) {
  await made(once, name, KEYS, options);
  return orders(client, name);
}

async function paged(command) {
  const items = [];
  for await (const page of command.paginate()) items.push(...page.Items);
  return items;
}

const checks = {
  async items() {
    const one = order("ann", 1, {
      bytes: new Uint8Array([0, 255]),
      amount: -1.5e-3,
      yes: true,
      words: new Set(["a", "b"]),
      list: ["x", { deep: 1 }],
    });
    await put(Order, one);
    const got = await Order.build(GetItemCommand).key(order("ann", 1)).options({ consistent: true }).send();
    assert.deepEqual(got.Item, one);
    const change = order("ann", 1, { state: "sent", amount: $add(1) });
    const changed = await Order.build(UpdateItemCommand).item(change).options({ returnValues: "UPDATED_NEW" }).send();
    assert.deepEqual([changed.Attributes.state, changed.Attributes.amount], ["sent", 0.9985]);
    const gone = await Order.build(DeleteItemCommand).key(order("ann", 1)).options({ returnValues: "ALL_OLD" }).send();
    assert.equal(gone.Attributes.state, "sent");
  },

  async query() {
    await times(7, (at) => put(Order, order("bob", at, { state: "sent" })));
    const asked = table.build(QueryCommand).entities(Order).query({ partition: "bob", range: { gte: 2 } });
    assert.deepEqual(ats(await paged(asked.options({ limit: 2 }))), [2, 3, 4, 5, 6]);
    assert.deepEqual(ats((await asked.options({ reverse: true, limit: 2 }).send()).Items), [6, 5]);
    const index = table.build(QueryCommand).entities(Order).query({ index: "by-state", partition: "sent" });
    assert.deepEqual(ats(await paged(index.options({ limit: 3 }))), range(7));
  },

  async scan() {
    const scan = table.build(ScanCommand).entities(Order);
    assert.equal((await paged(scan.options({ limit: 3 }))).length, 7);
    const found = [];
    await times(4, async (segment) => {
      found.push(...(await scan.options({ segment, totalSegments: 4 }).send()).Items);
    });
    assert.deepEqual(ats(found).sort(), range(7));
    const some = await scan.options({ filters: { order: { attr: "at", between: [2, 4] } } }).send();
    assert.deepEqual(ats(some.Items).sort(), [2, 3, 4]);
  },

  async batches() {
    await times(4, async (part) => {
      const puts = range(25, 25 * part).map((at) => Order.build(BatchPutRequest).item(order("cleo", at)));
      await executeBatchWrite(table.build(BatchWriteCommand).requests(...puts));
    });
    const gets = range(100).map((at) => Order.build(BatchGetRequest).key(order("cleo", at)));
    const found = await executeBatchGet(table.build(BatchGetCommand).requests(...gets));
    assert.equal(found.Responses[0].length, 100);
  },

  async unprocessed() {
    const name = "slow-toolbox-batch";
    const slowly = await slow(again, name);
    const filling = "x".repeat(900);
    const puts = range(25).map((at) => slowly.Order.build(BatchPutRequest).item(order("hot", at, { filling })));
    const batch = slowly.table.build(BatchWriteCommand).requests(...puts);
    const first = await executeBatchWrite(batch);
    assert.ok(first.UnprocessedItems[name].length);
    await executeBatchWrite({ maxAttempts: 50 }, batch);
    assert.equal(await stored(name, "customer", "hot"), 25);
    return "handed out as `UnprocessedItems`; sent again with `maxAttempts`, at once";
  },

  async transactions() {
    await executeTransactWrite(Order.build(PutTransaction).item(order("dan", 1)));
    const condition = { attr: "customer", exists: false };
    const twice = Order.build(PutTransaction).item(order("dan", 1)).options({ condition });
    const other = Order.build(DeleteTransaction).key(order("dan", 2));
    const error = await refusedBy(() => executeTransactWrite(twice, other), "TransactionCanceledException");
    assert.deepEqual(
      error.CancellationReasons.map((reason) => reason.Code),
      ["ConditionalCheckFailed", "None"],
    );
    const read = await executeTransactGet(Order.build(GetTransaction).key(order("dan", 1)));
    assert.deepEqual(ats([read.Responses[0].Item]), [1]);
    return "`CancellationReasons`";
  },

  async conditions() {
    const options = { condition: { attr: "customer", exists: false }, returnValuesOnConditionFalse: "ALL_OLD" };
    const error = await refusedBy(() => put(Order, order("dan", 1), options), "ConditionalCheckFailedException");
    assert.deepEqual(error.Item.customer, { S: "dan" });
    return `\`${error.name}\`; the item in DynamoDB's own types`;
  },

  async throttle() {
    const hot = await slow(once, "slow-toolbox-hot");
    const units = await slow(once, "slow-toolbox-units", { units: 1 });
    const big = order("hot", 1, { filling: "x".repeat(4_000) });
    const putMany = (entity) => () => times(200, () => put(entity, big));
    errors.push(await refusedBy(putMany(hot.Order), "ThrottlingException"));
    errors.push(await refusedBy(putMany(units.Order), "ProvisionedThroughputExceededException"));
    return errors.map((error) => `\`${error.name}\``).join(", ");
  },

  async reasons() {
    return reasonsOf(errors);
  },

  async retries() {
    const full = await slow(again, "slow-toolbox-full");
    await filled(full.table.getName(), order("hot", 1));
    return attemptsOf(() => put(full.Order, order("hot", 2)));
  },
};

const ofTheSdk = "the SDK's own client has it";
await made(fast, table.getName(), KEYS, { index: { state: "S", at: "N" } });
await tell(["dynamodb-toolbox", "@aws-sdk/lib-dynamodb"], checks, {
  create: ofTheSdk,
  waiters: ofTheSdk,
  ttl: ofTheSdk,
  streams: ofTheSdk,
  partiql: ofTheSdk,
});
