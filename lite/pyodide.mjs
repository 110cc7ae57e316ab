// Runs a Python file in Pyodide, with all wheels as the browser gets them:
//
//     node pyodide.mjs build/lite/static/pyodide FILE.py ARGUMENT
//
// What the file prints as a program with this argument is printed. It finds the folder as /pyodide.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, file, argument] = process.argv.slice(2);
const home = resolve(folder) + "/";
const { loadPyodide } = await import(pathToFileURL(home + "pyodide.mjs"));
const packages = Object.keys(JSON.parse(readFileSync(home + "pyodide-lock.json", "utf8")).packages);
const python = await loadPyodide({ indexURL: home, packages, stdout: () => {} });
python.setStdout({ batched: (line) => console.log(line) });
python.mountNodeFS("/pyodide", home);
python.runPython(`import sys\nsys.argv = ["", ${JSON.stringify(argument ?? "")}]`);
python.runPython(readFileSync(file, "utf8"));
