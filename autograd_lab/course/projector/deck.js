// Starts reveal.js. A stepper begins to run when its slide comes, so that a deck of several opens at once.
const wake = (slide) => {
  for (const frame of slide?.querySelectorAll("iframe[data-srcdoc]") ?? []) {
    frame.srcdoc = frame.dataset.srcdoc;
    frame.removeAttribute("data-srcdoc");
  }
};
// As wide as the screen's form, from a 4:3 projector to a 16:9 screen.
const width = () => Math.round(768 * Math.min(16 / 9, Math.max(4 / 3, innerWidth / innerHeight)));

if (typeof Reveal === "undefined") {
  document.documentElement.classList.add("alone");
  document.querySelector("#alone").hidden = false;
  wake(document);
} else {
  Reveal.initialize({
    width: width(), height: 768, margin: 0, minScale: 0.2, maxScale: 4, center: false, hash: true, slideNumber: "c/t", navigationMode: "linear", transition: "none",
    pdfSeparateFragments: false, plugins: typeof RevealNotes === "undefined" ? [] : [RevealNotes],
  });
  Reveal.on("ready", (event) => wake(event.currentSlide));
  Reveal.on("slidechanged", (event) => { document.activeElement?.blur(); wake(event.currentSlide); });
  addEventListener("resize", () => Reveal.configure({ width: width() }));
  addEventListener("beforeprint", () => wake(document));
}
// A stepper that was clicked into has the keys; this gives them back to the deck.
document.addEventListener("click", (event) => { if (event.target.closest(".keys")) { event.target.blur(); window.focus(); } });
