// A run that goes on: its page is fetched again when the server says that it has grown.
"use strict";
{
  const source = document.querySelector("[data-live]:not([data-live=''])");
  let waiting = false;

  const refresh = async () => {
    waiting = false;
    const answer = await fetch(location.href, { credentials: "same-origin" });
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const parts = fresh.querySelectorAll("[data-live]");
    document.querySelectorAll("[data-live]").forEach((part, number) => {
      if (!parts[number] || part.contains(document.activeElement)) return;
      part.replaceChildren(...parts[number].childNodes);
    });
  };

  const follow = () => {
    const events = new EventSource(source.dataset.live);
    events.addEventListener("grown", () => {
      if (waiting) return;
      waiting = true;
      setTimeout(refresh, 500);
    });
    events.addEventListener("ended", () => {
      events.close();
      refresh();
    });
    // A browser asks again by itself, but never after an answer that is an error.
    events.addEventListener("error", () => {
      if (events.readyState === EventSource.CLOSED) setTimeout(follow, 30_000);
    });
  };
  if (source && window.EventSource) follow();

  // Arrow keys follow the links to the previous and the next rollout or page.
  document.addEventListener("keydown", (event) => {
    if (event.target.closest("input, textarea, select, [tabindex]") || event.altKey || event.ctrlKey || event.metaKey) return;
    const relation = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
    const link = relation && document.querySelector(`a[rel=${relation}]`);
    if (link) link.click();
  });
}
