// The model that a widget's front end asks for its traits where there is no kernel: on a page of its own, and on the web site.
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
