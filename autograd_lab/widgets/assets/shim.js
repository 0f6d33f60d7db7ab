// A page without a kernel: for each stepper, the model that it asks for its traits.
class Model {
  constructor(traits) {
    this.traits = traits;
    this.listeners = [];
  }
  get(name) { return this.traits[name]; }
  set(name, value) {
    if (typeof name === "object") { for (const [key, one] of Object.entries(name)) this.set(key, one); return; }
    if (this.traits[name] === value) return;
    this.traits[name] = value;
    for (const [event, call] of [...this.listeners]) if (event === `change:${name}` || event === "change") call();
  }
  on(event, call) { this.listeners.push([event, call]); }
  off(event, call) { this.listeners = this.listeners.filter(([e, c]) => (event && e !== event) || (call && c !== call)); }
  save_changes() {} // nobody to save them for
  send() {}
}

function openStepper(data) {
  const el = document.createElement("div");
  data.replaceWith(el);
  WIDGET.render({ model: new Model(JSON.parse(data.textContent)), el });
}

for (const data of document.querySelectorAll("script[type='application/json']")) {
  const fold = data.closest("details:not([open])");
  if (fold) fold.addEventListener("toggle", () => openStepper(data), { once: true }); // folded up there is no room to measure
  else openStepper(data);
}
