// The page around a stepper. In the same cell's output, before it, stands the still picture for viewers without
// widgets (widgets/still.py); where the stepper lives, that picture would only say everything twice.

/** Hide the still picture that belongs to the stepper in `el`; what is returned shows it again. That of a long trace comes later. */
export function hideStill(el, model) {
  let row = null;
  const look = () => {
    const key = model.get("_still");
    row ??= key ? still(el, key) : null;
    if (row) row.style.display = "none";
    if (row) later.disconnect();
  };
  const later = new MutationObserver(look), watch = new ResizeObserver(look); // called when el gets its place in the page
  const wait = () => { row = null; later.observe(el.closest(".jp-Cell") ?? document.body, { childList: true, subtree: true }); look(); };
  watch.observe(el);
  model.on("change:_still", wait);
  return () => {
    watch.disconnect();
    later.disconnect();
    model.off("change:_still", wait);
    if (row) row.style.display = "";
  };
}

/** The output that holds the picture: the nearest one before `el` in the page, in the same cell. */
function still(el, key) {
  for (let at = el, around = el.parentElement; around; at = around, around = around.parentElement) {
    const found = [...around.querySelectorAll(`.agl-still[data-agl="${key}"]`)];
    let row = found.filter((one) => one.compareDocumentPosition(at) & Node.DOCUMENT_POSITION_FOLLOWING).at(-1);
    if (row) {
      while (row.parentElement !== around) row = row.parentElement;
      return row;
    }
    if (around.classList.contains("jp-Cell")) return null;
  }
  return null;
}
