// An extension of JupyterLab, written as its build would have left it: a student's work in one file and back, a sentence while
// Python starts, and the first notebook.

(() => {
  const place = new URL(".", document.currentScript.src);
  const root = new URL("../../../", place); // the folder of the lab
  const asked = new URLSearchParams(location.search).has("path"); // JupyterLab takes it out of the address
  const TAKEN = "autograd-lab-theme-taken"; // the key of the theme that the lab took over last
  let scope;
  const shared = async (name) => (await Object.values(scope[name])[0].get())();

  async function plugins() {
    const [{ Dialog, ICommandPalette, showDialog }, { IMainMenu }, { INotebookTracker }, { ISettingRegistry }, { Widget }] = await Promise.all(
      ["@jupyterlab/apputils", "@jupyterlab/mainmenu", "@jupyterlab/notebook", "@jupyterlab/settingregistry", "@lumino/widgets"].map(shared),
    );
    const said = (title, body) => showDialog({ title, body: text(body), buttons: [Dialog.okButton()] });

    function text(body) {
      const node = document.createElement("div");
      node.className = "autograd-lab-said";
      for (const line of body) node.append(Object.assign(document.createElement("p"), { textContent: line }));
      return new Widget({ node });
    }

    async function work(app) {
      const { Work } = await import(new URL("work.js", place));
      await app.commands.execute("docmanager:save-all");
      const delivered = await (await fetch(new URL("delivered.json", root))).json();
      const original = async (path) =>
        delivered.includes(path) ? new Uint8Array(await (await fetch(new URL("files/" + path, root))).arrayBuffer()) : null;
      return new Work(app.serviceManager.contents, delivered, original);
    }

    async function download(app) {
      const { file, paths } = await (await work(app)).pack();
      if (!paths.length) return said("Nothing to download yet", ["You have changed no file. What you write and run is in the download."]);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(file);
      link.download = file.name;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    }

    async function upload(app, file) {
      const mine = await work(app);
      let found;
      try {
        found = await mine.compare(new Uint8Array(await file.arrayBuffer()));
      } catch (problem) {
        return said(`${file.name} was not uploaded`, [problem.message]);
      }
      const { same, fresh, both } = found;
      let keep = true;
      if (both.length) {
        const { button } = await showDialog({
          title: both.length === 1 ? "One file is different here" : `${both.length} files are different here`,
          body: text([...both.map(({ path }) => path), "Here and in the archive something was written that the other has not. Keep both, and the file of the archive gets a name of its own; or replace what is here."]),
          buttons: [Dialog.cancelButton(), Dialog.warnButton({ label: "Replace" }), Dialog.okButton({ label: "Keep both" })],
        });
        if (!button.accept) return;
        keep = button.label !== "Replace";
      }
      const written = [...(await mine.write(fresh)), ...(await mine.write(both, keep))];
      const open = new Map([...app.shell.widgets("main")].map((widget) => [widget.context?.path, widget.context]));
      for (const path of written) await open.get(path)?.revert();
      await app.commands.execute("filebrowser:refresh");
      const count = (n) => (n === 1 ? "1 file" : `${n} files`);
      await said(`${file.name} was uploaded`, [
        ...written.slice(0, 40),
        [written.length ? `${count(written.length)} written.` : "", same ? `${count(same)} already here.` : ""].join(" ").trim() || "The archive is empty.",
      ]);
    }

    function bar(app, notebooks) {
      const node = document.createElement("div");
      node.className = "autograd-lab-bar";
      const told = node.appendChild(document.createElement("span"));
      told.setAttribute("role", "status");
      for (const name of ["download", "upload"]) {
        const button = node.appendChild(document.createElement("button"));
        button.textContent = app.commands.label(`autograd-lab:${name}`);
        button.title = app.commands.caption(`autograd-lab:${name}`);
        button.onclick = () => app.commands.execute(`autograd-lab:${name}`);
      }
      const widget = new Widget({ node });
      widget.id = "autograd-lab-bar";
      app.shell.add(widget, "top", { rank: 2000 });
      const watched = new WeakSet();
      const tell = () => {
        const session = notebooks.currentWidget?.sessionContext;
        if (session && !watched.has(session)) {
          watched.add(session);
          session.statusChanged.connect(tell);
          session.kernelChanged.connect(tell);
        }
        const begins = session && ["unknown", "starting", "connecting", "initializing"].includes(session.kernelDisplayStatus);
        told.textContent = begins ? "Python starts in this browser: about 15 seconds. Read on; cells that you run wait for it." : "";
      };
      notebooks.currentChanged.connect(tell);
      tell();
    }

    function activate(app, notebooks, palette, menu) {
      const { commands } = app;
      const offer = (name, label, caption, execute) => {
        const safely = () => execute().catch((problem) => said(`${label}: that did not work`, [`${problem.message ?? problem}`, "Your files are as they were. Save them one by one: right-click, Download."]));
        commands.addCommand(`autograd-lab:${name}`, { label, caption, execute: safely });
        palette?.addItem({ command: `autograd-lab:${name}`, category: "autograd_lab" });
      };
      offer("download", "Download my work", "All files that you have changed, as one archive", () => download(app));
      offer("upload", "Upload work", "An archive with your work, from here or elsewhere; nothing is overwritten unasked", async () => {
        const input = Object.assign(document.createElement("input"), { type: "file", accept: ".zip" });
        const chosen = new Promise((done) => (input.onchange = () => done(input.files[0])));
        input.click();
        await upload(app, await chosen);
      });
      menu?.fileMenu.addGroup([{ command: "autograd-lab:download" }, { command: "autograd-lab:upload" }], 20);
      const style = document.head.appendChild(document.createElement("link"));
      style.rel = "stylesheet";
      style.href = new URL("extension.css", place);
      bar(app, notebooks);
      navigator.storage?.persist?.(); // the browser is asked not to clear the student's work when its disk is full
      app.restored.then(async () => {
        if (!asked && !notebooks.size) await commands.execute("docmanager:open", { path: "notebooks/00_start_here.ipynb" });
        for (const widget of [...app.shell.widgets("main")]) if (widget.id.startsWith("launcher")) widget.dispose();
      });
    }

    /** Takes over the theme that was chosen on the site's pages since the last time. One chosen here later stays. */
    async function theme(app, settings) {
      const [chosen, taken] = ["autograd-lab-theme", TAKEN].map((key) => localStorage.getItem(key) ?? "");
      if (chosen === taken) return;
      localStorage.setItem(TAKEN, chosen);
      const own = await settings.load("@jupyterlab/apputils-extension:themes");
      await own.set("adaptive-theme", !chosen);
      if (chosen) await own.set("theme", chosen === "dark" ? "JupyterLab Dark" : "JupyterLab Light");
    }

    return [
      { id: "autograd-lab:theme", autoStart: true, requires: [ISettingRegistry], activate: theme },
      { id: "autograd-lab:work", autoStart: true, requires: [INotebookTracker], optional: [ICommandPalette, IMainMenu], activate },
    ];
  }

  (window._JUPYTERLAB ??= {})["autograd-lab"] = {
    init: (given) => void (scope = given),
    get: async () => {
      const found = { __esModule: true, default: await plugins() };
      return () => found;
    },
  };
})();
