// ElectroDB: entities that make their own keys, on the SDK's document client.
import assert from "node:assert/strict";
import { createGetTransaction, createWriteTransaction, Entity } from "electrodb";
import { again, fast, filled, made, once, stored } from "./plain_tables.mjs";
import { ats, attemptsOf, range, reasonsOf, refusedBy, tell, times } from "./told.mjs";

const KEYS = { pk: "S", sk: "S" };
const INDEX = { gsi1pk: "S", gsi1sk: "S" };
const keys = (pk, sk, partition) => ({
  pk: { field: pk, composite: [partition] },
  sk: { field: sk, composite: ["at"] },
});

function orders(client, table) {
  const model = { entity: "order", version: "1", service: "shop" };
  const attributes = {
    customer: { type: "string", required: true },
    at: { type: "number", required: true, padding: { length: 5, char: "0" } },
    state: { type: "string" },
    amount: { type: "number" },
    yes: { type: "boolean" },
    words: { type: "set", items: "string" },
    list: { type: "list", items: { type: "string" } },
    deep: { type: "map", properties: { x: { type: "number" } } },
    filling: { type: "string" },
  };
  const indexes = {
    primary: keys("pk", "sk", "customer"),
    byState: { index: "by-state", ...keys("gsi1pk", "gsi1sk", "state") },
  };
  return new Entity({ model, attributes, indexes }, { client, table });
}

const NAME = "orders-electrodb";
const Order = orders(fast, NAME);
const order = (customer, at, more = {}) => ({ customer, at, ...more });
const errors = [];

async function slow(client, name, options) {
  await made(once, name, KEYS, options);
  return orders(client, name);
}

// All pages of so many items, and how many there were.
async function paged(asked, limit) {
  const items = [];
  let [cursor, pages] = [null, 0];
  do {
    const page = await asked.go({ limit, cursor });
    items.push(...page.data);
    [cursor, pages] = [page.cursor, pages + 1];
  } while (cursor !== null);
  return [ats(items), pages];
}

const checks = {
  async items() {
    const one = order("ann", 1, { state: "new", amount: -1.5e-3, yes: true, words: ["a"], list: ["x"], deep: { x: 1 } });
    await Order.put(one).go();
    assert.deepEqual((await Order.get(order("ann", 1)).go({ consistent: true })).data, one);
    const changed = await Order.update(order("ann", 1)).set({ state: "sent" }).add({ amount: 1 }).go({ response: "updated_new" });
    assert.equal(changed.data.amount, 0.9985);
    const gone = await Order.delete(order("ann", 1)).go({ response: "all_old" });
    assert.equal(gone.data.state, "sent");
  },

  async query() {
    await times(7, (at) => Order.put(order("bob", at, { state: "sent" })).go());
    const asked = () => Order.query.primary({ customer: "bob" }).gte({ at: 2 });
    assert.deepEqual(await paged(asked(), 2), [[2, 3, 4, 5, 6], 3]);
    assert.deepEqual(ats((await asked().go({ order: "desc", limit: 2 })).data), [6, 5]);
    const [found] = await paged(Order.query.byState({ state: "sent" }), 3);
    assert.deepEqual(found, range(7));
  },

  async scan() {
    const [found, pages] = await paged(Order.scan, 3);
    assert.deepEqual(found.sort(), range(7));
    assert.ok(pages > 2);
    const some = await Order.scan.where(({ at }, { between }) => between(at, 2, 4)).go({ pages: "all" });
    assert.deepEqual(ats(some.data).sort(), [2, 3, 4]);
  },

  async batches() {
    const done = await Order.put(range(100).map((at) => order("cleo", at))).go();
    assert.deepEqual(done.unprocessed, []);
    const found = await Order.get(range(100).map((at) => order("cleo", at))).go();
    assert.equal(found.data.length, 100);
  },

  async unprocessed() {
    const name = "slow-electrodb-batch";
    const slowly = await slow(again, name);
    const puts = range(25).map((at) => order("hot", at, { filling: "x".repeat(900) }));
    const { unprocessed } = await slowly.put(puts).go();
    assert.ok(unprocessed.length, "none was refused");
    await times(unprocessed.length, (number) => slowly.put(unprocessed[number]).go());
    assert.equal(await stored(name, "pk", "$shop#customer_hot"), 25);
    return "handed out as `unprocessed`, to be sent again";
  },

  async transactions() {
    await createWriteTransaction({ Order }, ({ Order }) => [Order.put(order("dan", 1)).commit()]).go();
    const cancelled = await createWriteTransaction({ Order }, ({ Order }) => [
      Order.create(order("dan", 1)).commit(),
      Order.delete(order("dan", 2)).commit(),
    ]).go();
    assert.ok(cancelled.canceled);
    assert.deepEqual(
      cancelled.data.map((one) => one.code),
      ["ConditionalCheckFailed", "None"],
    );
    const read = await createGetTransaction({ Order }, ({ Order }) => [Order.get(order("dan", 1)).commit()]).go();
    assert.deepEqual(ats([read.data[0].item]), [1]);
    return "no exception: `canceled`, and a `code` for each item";
  },

  async conditions() {
    const error = await refusedBy(() => Order.create(order("dan", 1)).go(), "ElectroError");
    assert.equal(error.cause.name, "ConditionalCheckFailedException");
    return `\`${error.name}\` with \`${error.cause.name}\` as its \`cause\``;
  },

  async throttle() {
    const hot = await slow(once, "slow-electrodb-hot");
    const units = await slow(once, "slow-electrodb-units", { units: 1 });
    const big = order("hot", 1, { filling: "x".repeat(4_000) });
    for (const entity of [hot, units]) {
      const error = await refusedBy(() => times(200, () => entity.put(big).go()), "ElectroError");
      errors.push(error.cause);
    }
    assert.deepEqual(
      errors.map((error) => error.name),
      ["ThrottlingException", "ProvisionedThroughputExceededException"],
    );
    return "`ElectroError`, whose `cause` is the SDK's exception";
  },

  async reasons() {
    return `${reasonsOf(errors)} of the \`cause\``;
  },

  async retries() {
    const name = "slow-electrodb-full";
    const full = await slow(again, name);
    await filled(name, { pk: "$shop#customer_hot", sk: "$order_1#at_00001" });
    return attemptsOf(() => full.put(order("hot", 2)).go());
  },
};

const ofTheSdk = "the SDK's own client has it";
await made(fast, NAME, KEYS, { index: INDEX });
await tell(["electrodb", "@aws-sdk/lib-dynamodb"], checks, {
  create: ofTheSdk,
  waiters: ofTheSdk,
  ttl: ofTheSdk,
  streams: ofTheSdk,
  partiql: ofTheSdk,
});
