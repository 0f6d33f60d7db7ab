// A student's work: all files that are not as they were delivered, packed into a zip archive, and back, with nothing overwritten unasked.
// The archive has the layout of a student's folder, notebooks/ and exercises/, which `autograd-lab grade` reads.

export const PROGRESS = ".autograd_lab/progress.json";
const LARGEST = 200e6; // bytes of all files of an archive

export class Work {
  // `contents` is JupyterLab's manager; `original` gives the bytes of a file as it was delivered, or null.
  constructor(contents, delivered, original) {
    Object.assign(this, { contents, delivered, original });
  }

  async pack() {
    const files = [];
    for (const path of await this.paths("")) {
      const mine = await this.read(path);
      if (mine && !same(path, mine.data, await this.original(path))) files.push({ path, ...mine });
    }
    const day = new Date().toISOString().slice(0, 10);
    return { paths: files.map((file) => file.path), file: new File([await zip(files)], `autograd-lab-work-${day}.zip`, { type: "application/zip" }) };
  }

  async paths(folder) {
    const found = [];
    const { content } = await this.contents.get(folder, { content: true });
    for (const { name, type } of content) {
      const path = folder ? `${folder}/${name}` : name;
      if (type === "directory") found.push(...(await this.paths(path)));
      else if (!/\.ipynb_checkpoints|__pycache__/.test(path)) found.push(path);
    }
    if (!folder && !found.includes(PROGRESS) && (await this.read(PROGRESS))) found.push(PROGRESS); // hidden folders may not be listed
    return found.sort();
  }

  // {data, time} of a file, or null if there is none.
  async read(path) {
    let model;
    try {
      model = await this.contents.get(path, { content: true });
    } catch {
      return null;
    }
    if (!model || model.type === "directory" || model.content == null) return null;
    const { content, format } = model;
    const data =
      format === "base64"
        ? Uint8Array.from(atob(content), (c) => c.charCodeAt(0))
        : new TextEncoder().encode(typeof content === "string" ? content : JSON.stringify(content, null, 1) + "\n");
    return { data, time: new Date(model.last_modified) };
  }

  // What is in an archive: how many files are here already, those that can be written, and those of which here is another version.
  async compare(archive) {
    const found = { same: 0, fresh: [], both: [] };
    for (const file of this.placed(await unzip(archive))) {
      const mine = await this.read(file.path);
      if (!mine) found.fresh.push(file);
      else if (same(file.path, mine.data, file.data)) found.same++;
      else if (file.path === PROGRESS) found.fresh.push({ ...file, data: merged(mine.data, file.data) });
      else if (same(file.path, mine.data, await this.original(file.path))) found.fresh.push(file);
      else if (same(file.path, file.data, await this.original(file.path))) found.same++; // never changed there: what is here is newer
      else found.both.push(file);
    }
    return found;
  }

  // Files of an archive with the paths that they have here: it may hold one folder around all, or exercises alone.
  placed(files) {
    const top = files[0]?.path.split("/")[0] + "/";
    const around = files.every(({ path }) => path.startsWith(top)) && !this.delivered.some((path) => path.startsWith(top)) && !PROGRESS.startsWith(top);
    return files.map((file) => {
      const path = around ? file.path.slice(top.length) : file.path;
      const known = path.includes("/") ? null : this.delivered.find((one) => one.endsWith("/" + path));
      return { ...file, path: known ?? path };
    });
  }

  // Write files; with `beside`, under new names where there is one already. Returns the paths.
  async write(files, beside = false) {
    const paths = [];
    for (const { path, data } of files) {
      let target = path;
      const dot = path.lastIndexOf(".");
      for (let n = 1; beside && (await this.read(target)); n++) {
        if (same(path, (await this.read(target)).data, data)) break;
        target = `${path.slice(0, dot)} (uploaded${n > 1 ? " " + n : ""})${path.slice(dot)}`;
      }
      await this.save(target, data);
      paths.push(target);
    }
    return paths;
  }

  async save(path, data) {
    const folders = path.split("/").slice(0, -1);
    for (let n = 1; n <= folders.length; n++) {
      const folder = folders.slice(0, n).join("/");
      if (await this.contents.get(folder, { content: false }).catch(() => null)) continue;
      await this.contents.rename((await this.contents.newUntitled({ path: "", type: "directory" })).path, folder);
    }
    const text = decoded(data);
    const content = path.endsWith(".ipynb") && notebook(data);
    const model = content
      ? { type: "notebook", format: "json", content }
      : text !== null
        ? { type: "file", format: "text", content: text }
        : { type: "file", format: "base64", content: btoa(Array.from(data, (byte) => String.fromCharCode(byte)).join("")) };
    // JupyterLite makes a folder of a new path without an extension, and text of bytes whose extension is one of texts: these get
    // their name afterwards.
    const later = text === null ? ".bin" : /[^/.]\.[^/.]+$/.test(path) ? "" : ".txt";
    const target = path + later;
    await this.contents.save(target, { ...model, name: target.split("/").at(-1), path: target });
    if (later) await this.contents.rename(target, path);
  }
}

function decoded(data) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(data);
  } catch {
    return null;
  }
}

function notebook(data) {
  try {
    const content = JSON.parse(decoded(data));
    return Array.isArray(content.cells) ? content : null;
  } catch {
    return null;
  }
}

// Whether two versions of a file hold the same work; of notebooks what their cells hold, not what a kernel noted.
function same(path, a, b) {
  if (!a || !b) return false;
  const [one, other] = path.endsWith(".ipynb") ? [notebook(a), notebook(b)] : [];
  const cells = (book) => JSON.stringify(book.cells.map((cell) => [cell.cell_type, joined(cell.source), cell.attachments ?? 0, plain(cell.outputs ?? [])]));
  if (one && other) return cells(one) === cells(other);
  return a.length === b.length && a.every((byte, n) => byte === b[n]);
}

const joined = (text) => (Array.isArray(text) ? text.join("") : text);
const plain = (value) =>
  Array.isArray(value)
    ? value.every((one) => typeof one === "string") ? value.join("") : value.map(plain)
    : value && typeof value === "object" ? Object.keys(value).sort().map((key) => [key, plain(value[key])]) : value;

// The better record of each item, as lab.check keeps it.
function merged(a, b) {
  try {
    const [mine, theirs] = [JSON.parse(decoded(a)), JSON.parse(decoded(b))];
    for (const [id, there] of Object.entries(theirs.items)) {
      const here = mine.items[id];
      const passed = (record) => record.state === "passed";
      const better = !here || passed(there) > passed(here) || (!passed(here) && there.score > here.score) ? there : here;
      mine.items[id] = { ...better, tries: Math.max(here?.tries ?? 0, there.tries ?? 0) };
    }
    return new TextEncoder().encode(JSON.stringify(mine, null, 1));
  } catch {
    return a; // one of them is no list of points
  }
}

// ---- zip archives ----

const TABLE = Array.from({ length: 256 }, (_, n) => {
  for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n >>> 0;
});

function crc32(data) {
  let crc = ~0;
  for (const byte of data) crc = TABLE[(crc ^ byte) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}

const through = async (data, stream) => new Uint8Array(await new Response(new Blob([data]).stream().pipeThrough(stream)).arrayBuffer());

export async function zip(files) {
  const parts = [];
  const listed = [];
  let at = 0;
  for (const { path, data, time } of files) {
    const name = new TextEncoder().encode(path);
    const packed = await through(data, new CompressionStream("deflate-raw"));
    const day = isNaN(time) || time.getFullYear() < 1980 ? new Date(1980, 0, 1) : time;
    const head = new DataView(new ArrayBuffer(26));
    head.setUint16(0, 20, true);
    head.setUint16(2, 0x800, true); // names are UTF-8
    head.setUint16(4, 8, true);
    head.setUint16(6, (day.getHours() << 11) | (day.getMinutes() << 5) | (day.getSeconds() >> 1), true);
    head.setUint16(8, ((day.getFullYear() - 1980) << 9) | ((day.getMonth() + 1) << 5) | day.getDate(), true);
    head.setUint32(10, crc32(data), true);
    head.setUint32(14, packed.length, true);
    head.setUint32(18, data.length, true);
    head.setUint16(22, name.length, true);
    const rest = new DataView(new ArrayBuffer(14));
    rest.setUint32(10, at, true);
    listed.push(Uint8Array.of(80, 75, 1, 2, 20, 0), new Uint8Array(head.buffer), new Uint8Array(rest.buffer), name);
    parts.push(Uint8Array.of(80, 75, 3, 4), new Uint8Array(head.buffer), name, packed);
    at += 30 + name.length + packed.length;
  }
  const end = new DataView(new ArrayBuffer(22));
  end.setUint32(0, 0x06054b50, true);
  end.setUint16(8, files.length, true);
  end.setUint16(10, files.length, true);
  end.setUint32(12, listed.reduce((sum, part) => sum + part.length, 0), true);
  end.setUint32(16, at, true);
  return new Blob([...parts, ...listed, end]);
}

// [{path, data}] of an archive; throws an Error with a sentence if it is none, or is damaged.
export async function unzip(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let end = bytes.length - 22;
  while (end >= 0 && view.getUint32(end, true) !== 0x06054b50) end--;
  if (end < 0) throw new Error("It is no zip archive. Choose the one that you downloaded here, or one that holds your notebooks.");
  const files = [];
  let size = 0;
  try {
    let at = view.getUint32(end + 16, true);
    for (let n = view.getUint16(end + 10, true); n > 0; n--) {
      const of = (place, bits = 32) => (bits === 16 ? view.getUint16(at + place, true) : view.getUint32(at + place, true));
      if (of(0) !== 0x02014b50) throw new Error("no entry");
      const path = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + of(28, 16)));
      const [kind, crc, packed, whole, start] = [of(10, 16), of(16), of(20), of(24), of(42)];
      at += 46 + of(28, 16) + of(30, 16) + of(32, 16);
      const parts = path.split("/");
      if (path.endsWith("/") || parts.includes("__MACOSX") || parts.at(-1) === ".DS_Store") continue;
      if (path.startsWith("/") || path.includes("\\") || parts.includes("..")) throw new Error(`the path ${path}`);
      if ((size += whole) > LARGEST) throw new Error("more than 200 MB");
      const body = start + 30 + view.getUint16(start + 26, true) + view.getUint16(start + 28, true);
      const raw = bytes.subarray(body, body + packed);
      const data = kind === 0 ? raw.slice() : await through(raw, new DecompressionStream("deflate-raw"));
      if (crc32(data) !== crc) throw new Error(`${path} is not whole`);
      files.push({ path, data });
    }
  } catch (problem) {
    throw new Error(`The archive cannot be read (${problem.message}). Nothing was changed here. Download it again, or upload the notebooks one by one.`);
  }
  return files;
}
