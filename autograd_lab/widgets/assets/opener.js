// A button that has the kernel show or hide a stepper below it (widgets/opener.py).
function render({ model, el }) {
  const root = document.createElement("div");
  root.className = "agl-opener";
  const button = document.createElement("button");
  button.type = "button";
  button.dataset.lmSuppressShortcuts = "true"; // else "d d" on it deletes the cell
  const problem = document.createElement("span");
  problem.setAttribute("role", "status");
  root.append(button, problem);
  button.onclick = () => {
    model.set("opened", !model.get("opened"));
    model.save_changes();
  };
  const show = () => {
    const open = model.get("opened") && !model.get("problem");
    button.textContent = `${open ? "\u25be" : "\u25b8"} ${model.get("label")}`;
    button.setAttribute("aria-expanded", String(open));
    problem.textContent = model.get("problem");
  };
  model.on("change:opened change:problem change:label", show);
  show();
  el.append(root);
  return () => model.off("change:opened change:problem change:label", show);
}

export default { render };
