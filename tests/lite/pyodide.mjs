// Runs a Python file in Pyodide, with the engine's wheels as the browser gets them:
//
//     node pyodide.mjs build/lite/static/pyodide FILE.py ARGUMENT
//
// What the file prints as a program with this argument is printed.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, file, argument] = process.argv.slice(2);
const home = resolve(folder) + "/";
const { loadPyodide } = await import(pathToFileURL(home + "pyodide.mjs"));
const packages = ["brokerlab", "cramjam", "kazoo", "kio", "typing-extensions"];
const python = await loadPyodide({ indexURL: home, packages, stdout: () => {} });
python.setStdout({ batched: (line) => console.log(line) });
python.runPython(`import sys\nsys.argv = ["", ${JSON.stringify(argument)}]`);
python.runPython(readFileSync(file, "utf8"));
