// The page around a stepper. In the same cell's output, before it, stands the still picture for viewers without
// widgets (widgets/still.py); where the stepper lives, that picture would only say everything twice.

/** Hide the still picture that belongs to the stepper in `el`; what is returned shows it again. */
export function hideStill(el, key) {
  let row = null;
  const watch = new ResizeObserver(() => { // called when el gets its place in the page
    row ??= key ? still(el, key) : null;
    if (row) row.style.display = "none";
  });
  watch.observe(el);
  return () => {
    watch.disconnect();
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
