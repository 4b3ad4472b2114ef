// Dynamoose: a table as a model, which it makes itself.
import assert from "node:assert/strict";
import { DescribeTimeToLiveCommand, DynamoDB } from "@aws-sdk/client-dynamodb";
import dynamoose from "dynamoose";
import { fast, filled } from "./plain_tables.mjs";
import { SLOW_URL, URL_, WHERE, ats, attemptsOf, range, reasonsOf, refusedBy, tell, times } from "./told.mjs";

const at = (endpoint, more = {}) => dynamoose.aws.ddb.set(new DynamoDB({ endpoint, ...WHERE, ...more }));
const fastly = () => at(URL_);
const slowly = (more) => at(SLOW_URL, more);
const ONCE = { maxAttempts: 1 };
const key = { customer: { type: String, hashKey: true }, at: { type: Number, rangeKey: true } };
const NAME = "orders-dynamoose";
const ON_DEMAND = { initialize: false, throughput: "ON_DEMAND", waitForActive: false };
const order = (customer, at, more = {}) => ({ customer, at, ...more });
const errors = [];
let Order;

async function model(name, more = {}, options = {}) {
  const schema = new dynamoose.Schema({ ...key, filling: String, ...more }, { saveUnknown: true });
  const Model = dynamoose.model(name, schema);
  const table = new dynamoose.Table(name, [Model], { ...ON_DEMAND, ...options });
  await table.initialize();
  return Model;
}

// All pages of so many items, and how many there were.
async function paged(asked, limit) {
  const items = [];
  let [after, pages] = [undefined, 0];
  do {
    const page = await (after ? asked().limit(limit).startAt(after) : asked().limit(limit)).exec();
    items.push(...page);
    [after, pages] = [page.lastKey, pages + 1];
  } while (after);
  return [ats(items), pages];
}

const checks = {
  async create() {
    fastly();
    const state = { type: String, index: { name: "by-state", type: "global", rangeKey: "at" } };
    const typed = { bytes: Buffer, yes: Boolean, words: { type: Set, schema: [String] }, amount: Number };
    const expires = { ttl: 3_600, attribute: "gone_after", items: { returnExpired: true } };
    Order = await model(NAME, { state, ...typed }, { expires, update: ["ttl"] });
    const described = await dynamoose.aws.ddb().describeTable({ TableName: NAME });
    assert.equal(described.Table.GlobalSecondaryIndexes[0].IndexName, "by-state");
  },

  async waiters() {
    const Model = dynamoose.model("waited-for-dynamoose", new dynamoose.Schema(key));
    const waitForActive = { enabled: true, check: { timeout: 30_000, frequency: 10 } };
    const table = new dynamoose.Table("waited-for-dynamoose", [Model], { ...ON_DEMAND, waitForActive });
    await table.initialize();
    await dynamoose.aws.ddb().deleteTable({ TableName: "waited-for-dynamoose" });
    return "for a new table alone (`waitForActive`)";
  },

  async items() {
    const one = order("ann", 1, { bytes: Buffer.from([0, 255]), yes: true, words: new Set(["a"]), amount: -1.5e-3 });
    await Order.create({ ...one, more: { deep: [1, "x"] } }, { overwrite: true });
    const got = await Order.get(order("ann", 1), { consistent: true });
    assert.deepEqual([got.amount, got.yes, [...got.words], [...got.bytes]], [-1.5e-3, true, ["a"], [0, 255]]);
    assert.deepEqual(got.more, { deep: [1, "x"] });
    const changed = await Order.update(order("ann", 1), { $SET: { state: "sent" }, $ADD: { amount: 1 } });
    assert.deepEqual([changed.state, changed.amount], ["sent", 0.9985]);
    await Order.delete(order("ann", 1));
    assert.equal(await Order.get(order("ann", 1)), undefined);
  },

  async query() {
    await times(7, (at) => Order.create(order("bob", at, { state: "sent" })));
    const asked = () => Order.query("customer").eq("bob").where("at").ge(2);
    assert.deepEqual(await paged(asked, 2), [[2, 3, 4, 5, 6], 3]);
    assert.deepEqual(ats(await asked().sort("descending").limit(2).exec()), [6, 5]);
    const [found] = await paged(() => Order.query("state").eq("sent").using("by-state"), 3);
    assert.deepEqual(found, range(7));
  },

  async scan() {
    const [all, pages] = await paged(() => Order.scan(), 3);
    assert.deepEqual(all.sort(), range(7));
    assert.ok(pages > 2);
    assert.deepEqual(ats(await Order.scan().parallel(4).exec()).sort(), range(7));
    assert.deepEqual(ats(await Order.scan("at").between(2, 4).exec()).sort(), [2, 3, 4]);
  },

  async batches() {
    await times(4, async (part) => {
      const done = await Order.batchPut(range(25, 25 * part).map((at) => order("cleo", at)));
      assert.deepEqual(done.unprocessedItems, []);
    });
    const found = await Order.batchGet(range(100).map((at) => order("cleo", at)));
    assert.deepEqual([found.length, found.unprocessedKeys.length], [100, 0]);
  },

  async unprocessed() {
    slowly();
    const Slow = await model("slow-dynamoose-batch");
    let left = range(25).map((at) => order("hot", at, { filling: "x".repeat(900) }));
    left = (await Slow.batchPut(left)).unprocessedItems;
    assert.ok(left.length, "none was refused");
    await times(left.length, (number) => Slow.create(left[number]));
    assert.equal((await Slow.query("customer").eq("hot").count().exec()).count, 25);
    return "handed out as `unprocessedItems`, to be sent again";
  },

  async transactions() {
    fastly();
    await dynamoose.transaction([Order.transaction.create(order("dan", 1))]);
    const error = await refusedBy(
      () => dynamoose.transaction([Order.transaction.create(order("dan", 1)), Order.transaction.delete(order("dan", 2))]),
      "TransactionCanceledException",
    );
    assert.deepEqual(
      error.CancellationReasons.map((reason) => reason.Code),
      ["ConditionalCheckFailed", "None"],
    );
    const [read] = await dynamoose.transaction([Order.transaction.get(order("dan", 1))]);
    assert.equal(read.at, 1);
    return "`CancellationReasons`";
  },

  async conditions() {
    const error = await refusedBy(() => Order.create(order("dan", 1)), "ConditionalCheckFailedException");
    return `\`${error.name}\``;
  },

  async ttl() {
    const found = await fast.send(new DescribeTimeToLiveCommand({ TableName: NAME }));
    assert.deepEqual(found.TimeToLiveDescription, { TimeToLiveStatus: "ENABLED", AttributeName: "gone_after" });
    return "with the table (`expires`)";
  },

  async throttle() {
    slowly(ONCE);
    const hot = await model("slow-dynamoose-hot");
    const units = await model("slow-dynamoose-units", {}, { throughput: 1 });
    const big = order("hot", 1, { filling: "x".repeat(4_000) });
    const putMany = (Model) => () => times(200, () => Model.create(big, { overwrite: true }));
    errors.push(await refusedBy(putMany(hot), "ThrottlingException"));
    errors.push(await refusedBy(putMany(units), "ProvisionedThroughputExceededException"));
    return errors.map((error) => `\`${error.name}\``).join(", ");
  },

  async reasons() {
    return reasonsOf(errors);
  },

  async retries() {
    slowly();
    const full = await model("slow-dynamoose-full");
    await filled("slow-dynamoose-full", order("hot", 1));
    return attemptsOf(() => full.create(order("hot", 2)));
  },
};

await tell(["dynamoose"], checks, {
  streams: "it enables a stream, and reads none",
  partiql: "the SDK's own client has it",
});
