// How the SDK for JavaScript v3 retries: calls of a client, with its chance and its pauses in our hands.
//
//     node retries.mjs '[{"endpoint": "http://127.0.0.1:8000", "calls": 1, "chance": 0.5, "options": {"maxAttempts": 8}}]'
//
// Each has a client of its own. It prints what it is, and of each call the pauses that it would have made, in
// milliseconds, and how it ended.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { DeleteItemCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";

// A pause is every timer between a refused attempt and the next one; it is noted, and not waited for.
const wait = globalThis.setTimeout;
let pauses = [];
let between = false;
globalThis.setTimeout = (done, ms, ...more) => {
  if (between) pauses.push(ms);
  return wait(done, between ? 0 : ms, ...more);
};

async function watched(endpoint, options) {
  const credentials = { accessKeyId: "any", secretAccessKey: "any" };
  const client = new DynamoDBClient({ endpoint, region: "us-east-1", credentials, ...options });
  const strategy = await client.config.retryStrategy();
  const refused = strategy.refreshRetryTokenForRetry.bind(strategy);
  strategy.refreshRetryTokenForRetry = (...of) => {
    between = true;
    return refused(...of);
  };
  const send = (next) => (args) => {
    between = false;
    return next(args);
  };
  client.middlewareStack.add(send, { step: "finalizeRequest", priority: "low" });
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
  assert.equal(sum, $metadata.totalRetryDelay ?? 0, "every pause was noted, and nothing else");
  return { pauses_ms: pauses, attempts: $metadata.attempts, error };
}

const told = [];
for (const { endpoint, calls, chance, options = {} } of JSON.parse(process.argv[2])) {
  Math.random = () => chance;
  const client = await watched(endpoint, options);
  told.push([]);
  for (let number = 0; number < calls; number++) told.at(-1).push(await call(client));
  client.destroy();
}
const { Retry } = await import("@smithy/core/retry").catch(() => ({}));
const versions = ["@aws-sdk/client-dynamodb", "@smithy/core"].map((name) => {
  const { version } = JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url)));
  return `${name} ${version}`;
});
console.log(JSON.stringify({ versions, of_2026: Retry?.v2026 === true, told }));
