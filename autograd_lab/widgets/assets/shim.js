// A page without a kernel: its data blocks become steppers.
function openStepper(data) {
  const el = document.createElement("div");
  data.replaceWith(el);
  const model = new Model(JSON.parse(data.textContent));
  (model.get("_own") ? OWN : WIDGET).render({ model, el });
}

for (const data of document.querySelectorAll("script[type='application/json']")) {
  const fold = data.closest("details:not([open])");
  if (fold) fold.addEventListener("toggle", () => openStepper(data), { once: true }); // folded up there is no room to measure
  else openStepper(data);
}
