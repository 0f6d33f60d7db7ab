// A page without a kernel: its data blocks become steppers.
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
