// The page before the lab: goes straight on if the address names a notebook.
const path = new URLSearchParams(location.search).get("path");
if (path) location.replace(`lab/index.html?path=${encodeURIComponent(path)}`);
