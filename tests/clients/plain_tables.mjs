// Tables for the clients that make none: each program has its own names.
import { CreateTableCommand, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, QueryCommand, PutCommand } from "@aws-sdk/lib-dynamodb";
import { FILLING, SLOW_URL, URL_, WHERE } from "./told.mjs";

export const fast = new DynamoDBClient({ endpoint: URL_, ...WHERE });
export const once = new DynamoDBClient({ endpoint: SLOW_URL, maxAttempts: 1, ...WHERE });
export const again = new DynamoDBClient({ endpoint: SLOW_URL, ...WHERE });

const key = (partition, sort) => [
  { AttributeName: partition, KeyType: "HASH" },
  { AttributeName: sort, KeyType: "RANGE" },
];

// `keys`: names and types of the partition key and the sort key, of the table and of its index `by-state`.
export async function made(client, TableName, keys, { index, units } = {}) {
  const [names, indexNames] = [Object.keys(keys), Object.keys(index ?? {})];
  const types = Object.entries({ ...keys, ...index });
  await client.send(
    new CreateTableCommand({
      TableName,
      KeySchema: key(...names),
      AttributeDefinitions: types.map(([AttributeName, AttributeType]) => ({ AttributeName, AttributeType })),
      ...(units
        ? { ProvisionedThroughput: { ReadCapacityUnits: units, WriteCapacityUnits: units } }
        : { BillingMode: "PAY_PER_REQUEST" }),
      ...(index && {
        GlobalSecondaryIndexes: [
          { IndexName: "by-state", KeySchema: key(...indexNames), Projection: { ProjectionType: "ALL" } },
        ],
      }),
    }),
  );
}

// Takes all that a partition has for the next half minute.
export async function filled(TableName, item) {
  const Item = { ...item, filling: "x".repeat(FILLING) };
  await DynamoDBDocumentClient.from(once).send(new PutCommand({ TableName, Item }));
}

// How many items there are with a partition key.
export async function stored(TableName, name, value) {
  const found = await DynamoDBDocumentClient.from(once).send(
    new QueryCommand({
      TableName,
      KeyConditionExpression: "#n = :v",
      ExpressionAttributeNames: { "#n": name },
      ExpressionAttributeValues: { ":v": value },
      Select: "COUNT",
    }),
  );
  return found.Count;
}
