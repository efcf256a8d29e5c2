// Of every page: "/" for the search, and buttons that copy. Pages work without it.
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
