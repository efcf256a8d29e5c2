// Of every page: "/" for the search, tables, and buttons that copy. Pages work without it.
"use strict";

document.addEventListener("keydown", (event) => {
  const writing = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (event.key !== "/" || writing || event.ctrlKey || event.metaKey || event.altKey) return;
  const search = document.getElementById("search");
  if (!search) return;
  event.preventDefault();
  search.focus();
  search.select();
});

// The keys that buttons name.
document.addEventListener("keydown", (event) => {
  if (event.target.closest?.("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.repeat || !/^\w$/.test(event.key)) return;
  document.querySelector(`button[aria-keyshortcuts~="${event.key.toLowerCase()}"]`)?.click();
});

// A table or text is a stop of the Tab key only while there is more of it than is seen.
const isCut = (each) => each.scrollWidth > each.clientWidth || each.scrollHeight > each.clientHeight;
const sizes = new ResizeObserver((seen) => {
  for (const frame of new Set(seen.map(({ target }) => target.closest(".table, pre")))) {
    if (isCut(frame)) frame.tabIndex = 0;
    else frame.removeAttribute("tabindex");
  }
});
const watchTables = (part) => {
  for (const each of part.querySelectorAll(".table, .table > table, pre[tabindex]")) sizes.observe(each);
};
watchTables(document);

for (const button of document.querySelectorAll("button.copy")) {
  if (!navigator.clipboard) break;
  button.hidden = false;
  button.setAttribute("aria-live", "polite");
  button.addEventListener("click", async () => {
    const code = button.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "Press Ctrl+C";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}
