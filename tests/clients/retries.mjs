// How an SDK for JavaScript v3 retries: calls of a client, with its chance, its clock and its pauses in our hands.
//
//     node retries.mjs FOLDER '[{"endpoint": "http://127.0.0.1:8000", "calls": 1, "chance": 0.5, "every_s": 0,
//                                "options": {"maxAttempts": 8}}]'
//
// The SDK is that of the folder's node_modules. Each has a client of its own. It prints what it is, and of each call
// the pauses that it would have made, in milliseconds, and how it ended.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";

const [folder, asked] = process.argv.slice(2);
const require = createRequire(join(folder, "package.json"));

// A pause is every timer before an attempt; it is noted, and not waited for. No sleep ends early.
const wait = globalThis.setTimeout;
const BEGUN_MS = Math.floor(Date.now() / 1000) * 1000 + 250; // else an SDK finds its clock wrong, and tries again
let nowMs = BEGUN_MS;
let pauses = [];
let between = false;
Date.now = () => nowMs;
globalThis.setTimeout = (done, ms, ...more) => {
  if (!between) return wait(done, ms, ...more);
  nowMs += ms + 0.001;
  pauses.push(ms);
  return wait(done, 0, ...more);
};

const { DeleteItemCommand, DynamoDBClient } = require("@aws-sdk/client-dynamodb");

async function watched(endpoint, options) {
  const credentials = { accessKeyId: "any", secretAccessKey: "any" };
  const client = new DynamoDBClient({ endpoint, region: "us-east-1", credentials, ...options });
  const strategy = await client.config.retryStrategy();
  for (const asks of ["acquireInitialRetryToken", "refreshRetryTokenForRetry"]) {
    const really = strategy[asks].bind(strategy);
    strategy[asks] = (...of) => {
      between = true;
      return really(...of);
    };
  }
  const send = (next) => (args) => {
    between = false;
    return next(args);
  };
  const receive = (next) => async (args) => {
    const got = await next(args);
    if ("silent" in got.response.headers) throw Object.assign(new Error("no answer"), { name: "TimeoutError" });
    return got;
  };
  client.middlewareStack.add(send, { step: "finalizeRequest", priority: "low" });
  client.middlewareStack.add(receive, { step: "deserialize", priority: "low" });
  return client;
}

async function call(client) {
  pauses = [];
  const command = new DeleteItemCommand({ TableName: "orders", Key: { pk: { S: "a" } } });
  const [error, { $metadata }] = await client.send(command).then(
    (output) => [null, output],
    (error) => [error.name, error],
  );
  between = false;
  const sum = pauses.reduce((all, ms) => all + ms, 0);
  const { mode } = await client.config.retryStrategy();
  if (mode === "standard") assert.equal(sum, $metadata.totalRetryDelay ?? 0, "every pause was noted, and nothing else");
  return { pauses_ms: pauses, attempts: $metadata.attempts, error };
}

const told = [];
for (const { endpoint, calls, chance, every_s, options = {} } of JSON.parse(asked)) {
  nowMs = BEGUN_MS;
  Math.random = () => chance;
  const client = await watched(endpoint, options);
  told.push([]);
  for (let number = 0; number < calls; number++) {
    told.at(-1).push(await call(client));
    nowMs += 1000 * every_s;
  }
  client.destroy();
}
const versions = ["@aws-sdk/client-dynamodb", "@smithy/core"].map(
  (name) => `${name} ${require(`./node_modules/${name}/package.json`).version}`,
);
const { Retry } = require("@smithy/core/retry");
console.log(JSON.stringify({ versions, of_2026: Retry?.v2026 === true, told }));
