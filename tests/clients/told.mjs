// What told.py is for Python: runs the checks of one client, and tells of each with a line of JSON.
//
//     node sdk_v3.mjs http://127.0.0.1:8000 http://127.0.0.1:8001
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const beside = (name) => JSON.parse(readFileSync(new URL(name, import.meta.url), "utf8"));
const NAMES = Object.keys(beside("checks.json"));
export const [URL_, SLOW_URL] = process.argv.slice(2);
export const WHERE = { region: "us-east-1", credentials: { accessKeyId: "any", secretAccessKey: "any" } };
export const FILLING = 390_000; // an item of so many bytes takes 38 s of a partition at a hundredth of the rate

export class NotServed extends Error {}

const said = (check, outcome, words) => console.log(JSON.stringify({ check, outcome, words }));

// Runs the checks in their order; `lacks` says why a client has none of a kind, by the name of the check.
export async function tell(packages, checks, lacks) {
  const all = [...Object.keys(checks), ...Object.keys(lacks)];
  assert.deepEqual(all.sort(), [...NAMES].sort(), "each check is made, or said to be missing");
  const version = (name) => beside(`node_modules/${name}/package.json`).version;
  // What is sent again, and when, is decided by @smithy/core, whatever the version of the client.
  said("client", "yes", [...packages, "@smithy/core"].map((name) => `${name} ${version(name)}`).join(", "));
  for (const name of NAMES) {
    if (name in lacks) {
      said(name, "not in this client", lacks[name]);
      continue;
    }
    try {
      said(name, "yes", (await checks[name]()) ?? "");
    } catch (error) {
      if (error instanceof NotServed) {
        said(name, "not served", "");
        continue;
      }
      console.error(error);
      said(name, "no", `${error.name}: ${error.message}`);
    }
  }
}

// What an attempt throws, which must be of this name.
export async function refusedBy(attempt, name) {
  try {
    await attempt();
  } catch (error) {
    assert.equal(error.name, name, error);
    return error;
  }
  throw new Error(`it was not refused with ${name}`);
}

// How often a put was sent that is refused each time.
export async function attemptsOf(put) {
  const before = await askedFor("PutItem");
  await assert.rejects(put);
  const attempts = (await askedFor("PutItem")) - before;
  return `${attempts} attempt${attempts > 1 ? "s" : ""}`;
}

async function askedFor(operation) {
  const answer = await fetch(`${SLOW_URL}/_keyheat/requests`);
  return (await answer.json())[operation] ?? 0;
}

// The reasons of a throttle: the service's model spells them in two ways.
export function reasonsOf(errors) {
  const names = errors.map((error) => ["throttlingReasons", "ThrottlingReasons"].find((name) => error[name]));
  const found = errors.map((error, index) => error[names[index]]);
  assert.deepEqual(
    found.map(([one]) => one.reason),
    ["TableWriteKeyRangeThroughputExceeded", "TableWriteProvisionedThroughputExceeded"],
  );
  assert.match(found[0][0].resource, /:table\/slow-/);
  return names.map((name) => `\`${name}\``).join(" and ");
}

export async function times(count, made) {
  for (let number = 0; number < count; number++) await made(number);
}

export const range = (count, from = 0) => Array.from({ length: count }, (_, number) => from + number);
export const ats = (items) => items.map((item) => Number(item.at));
