// What test_lab.py asks of a student's work in the browser (assets/lab/work.js), against a JupyterLite that is a table of files:
// `node work.mjs WORK.js` reads {mine, delivered, archive} from stdin, with files in base 64, and prints what became of them.
import fs from "node:fs";
import { pathToFileURL } from "node:url";

const { Work } = await import(pathToFileURL(process.argv[2]));
const asked = JSON.parse(fs.readFileSync(0, "utf-8"));
const bytes = (text) => new Uint8Array(Buffer.from(text, "base64"));
const files = new Map(Object.entries(asked.mine).map(([path, text]) => [path, bytes(text)]));
const folders = new Set([""]);
for (const path of files.keys()) for (let at = path; at.includes("/"); ) folders.add((at = at.slice(0, at.lastIndexOf("/"))));

const contents = {
  async get(path, options) {
    if (folders.has(path)) {
      const all = [...folders, ...files.keys()].filter((one) => one && one.split("/").slice(0, -1).join("/") === path);
      const content = all.map((one) => ({ name: one.split("/").at(-1), type: folders.has(one) ? "directory" : "file" }));
      return { type: "directory", content: options?.content ? content : null };
    }
    if (!files.has(path)) throw new Error(`no ${path}`);
    return { type: "file", format: "base64", content: Buffer.from(files.get(path)).toString("base64"), last_modified: "2026-01-02T03:04:06" };
  },
  async save(path, { type, format, content }) {
    if (!folders.has(path.split("/").slice(0, -1).join("/"))) throw new Error(`no folder for ${path}`);
    files.set(path, format === "base64" ? bytes(content) : Buffer.from(format === "json" ? JSON.stringify(content) : content));
  },
  async newUntitled() {
    folders.add("Untitled Folder");
    return { path: "Untitled Folder" };
  },
  async rename(from, to) {
    if (folders.delete(from)) return folders.add(to);
    files.set(to, files.get(from));
    files.delete(from);
  },
};

const work = new Work(contents, Object.keys(asked.delivered), async (path) => (path in asked.delivered ? bytes(asked.delivered[path]) : null));
const said = {};
if (asked.archive != null) {
  try {
    const { same, fresh, both } = await work.compare(bytes(asked.archive));
    Object.assign(said, { same, both: both.map((file) => file.path), written: await work.write(fresh) });
    if (asked.keep != null) said.written.push(...(await work.write(both, asked.keep)));
  } catch (problem) {
    said.error = problem.message;
  }
}
const { file } = await work.pack();
said.packed = Buffer.from(await file.arrayBuffer()).toString("base64");
said.files = Object.fromEntries([...files].map(([path, data]) => [path, Buffer.from(data).toString("base64")]));
console.log(JSON.stringify(said));
