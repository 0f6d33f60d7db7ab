// The end of the module assets/stepper.js; before it stands the front end (WIDGET, Model). It opens each live stepper of the page when it comes near.

/** Open a stepper in `element`; `traits` are its data (widgets/export.py). Gives its model, and what closes it. */
export async function open(traits, element) {
  const model = new Model(traits);
  return { model, close: await WIDGET.render({ model, el: element }) };
}

async function openLive(live) {
  live.dataset.opened = "";
  const element = document.createElement("div"), { stepper } = live.dataset;
  element.className = "site-live-here";
  try {
    let traits = live.querySelector(":scope > script")?.textContent;
    if (stepper) {
      const answer = await fetch(stepper);
      if (!answer.ok) throw new Error(`${stepper}: ${answer.status} ${answer.statusText}`);
      traits = await answer.text();
    }
    live.prepend(element);
    live.stepper = await open(JSON.parse(traits), element);
    live.dispatchEvent(new CustomEvent("agl-opened", { bubbles: true }));
  } catch (error) {
    delete live.dataset.opened;
    live.dataset.failed = "";
    element.className = "site-live-failed";
    element.setAttribute("role", "status");
    element.textContent = `This stepper did not open (${error.message}), so here is its picture. Load the page again.`;
    live.prepend(element);
  }
}

// One after the other, so that the first is usable first.
let lastOpened = Promise.resolve();
const openNext = (live) => { lastOpened = lastOpened.then(() => openLive(live)); };
const liveComesNear = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    liveComesNear.unobserve(target);
    openNext(target);
  }
}, { rootMargin: "900px 0px" });

/** Open the live steppers inside `root` as they come near. A page's own are opened by themselves. */
export function openAll(root = document) {
  for (const live of root.querySelectorAll(".site-live:not([data-waits])")) {
    live.dataset.waits = "";
    liveComesNear.observe(live);
  }
}

{
  const first = document.querySelector(".site-live");
  if (first && !first.closest("details:not([open])")) { // at once, wherever it is
    first.dataset.waits = "";
    openNext(first);
  }
}
openAll();
