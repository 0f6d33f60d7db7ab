// The stepper of the start page plays by itself, until somebody touches it. Who has asked for less motion sees it rest.
document.addEventListener("agl-opened", ({ target }) => {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches || document.visibilityState === "hidden") return;
  const play = target.querySelector("button[aria-label='Play']");
  const stop = () => target.querySelector("button[aria-label='Pause']")?.click();
  play?.click();
  for (const event of ["pointerdown", "keydown"]) target.addEventListener(event, ({ target: on }) => { if (!on.closest("[aria-label='Pause']")) stop(); }, { once: true, capture: true });
}, { once: true });
