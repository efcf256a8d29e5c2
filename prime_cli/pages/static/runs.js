// A run that goes on, or the list: the page is fetched again when the server says that it has grown.
"use strict";
{
  const source = document.querySelector("[data-live]:not([data-live=''])");
  let isWaiting = false;
  // What has not changed is left as it is, with what somebody typed there.
  const drawn = new Map([...document.querySelectorAll("[data-live]")].map((part) => [part, part.innerHTML]));

  // What a reader opened, ticked, scrolled to and focused stays so; charts may have come before it.
  const chartOf = (each) => each.closest("figure")?.querySelector("b").textContent;
  const nameOf = (each) => chartOf(each) ?? each.querySelector("summary").textContent;
  const sign = (each) => [each.tagName, each.getAttribute("href"), each.value, chartOf(each)].join(" ");
  const replace = (part, fresh) => {
    if (fresh.dataset.live) part.dataset.live = fresh.dataset.live;
    if (drawn.get(part) === fresh.innerHTML) return;
    drawn.set(part, fresh.innerHTML);
    const all = (selector) => [...part.querySelectorAll(selector)];
    const open = new Map(all("details").map((each) => [nameOf(each), each.open]));
    const ticked = new Set(all("input:checked").map(sign));
    const places = new Map(all(".table").map((each) => [sign(each), [each.scrollLeft, each.scrollTop]]));
    const focused = part.contains(document.activeElement) ? sign(document.activeElement) : null;
    part.replaceChildren(...fresh.childNodes);
    for (const each of all("details")) each.open = open.get(nameOf(each)) ?? each.open;
    for (const each of all("input")) each.checked = ticked.has(sign(each));
    watchTables(part);
    watchCharts(part);
    for (const each of all(".table")) [each.scrollLeft, each.scrollTop] = places.get(sign(each)) ?? [0, 0];
    if (focused) all("a, input, button, summary, .table").find((each) => sign(each) === focused)?.focus({ preventScroll: true });
  };

  const draw = async () => {
    const answer = await fetch(location.href, { credentials: "same-origin" });
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const parts = fresh.querySelectorAll("[data-live]");
    document.querySelectorAll("[data-live]").forEach((part, number) => {
      if (parts[number]) replace(part, parts[number]);
    });
  };

  // One at a time: an answer that is late would replace a newer one.
  let wanted = 0;
  const refresh = async () => {
    wanted += 1;
    if (wanted > 1) return;
    try {
      for (let drawn = 0; drawn < wanted;) {
        drawn = wanted;
        await draw();
      }
    } finally {
      wanted = 0;
    }
  };

  let events = null;
  let isOver = false;

  // A browser has six connections to a server: a page that is not seen leaves its own to others.
  const follow = () => {
    events?.close();
    if (isOver || document.hidden) return;
    events = new EventSource(source.dataset.live);
    events.addEventListener("grown", () => {
      if (isWaiting) return;
      isWaiting = true;
      setTimeout(() => { isWaiting = false; refresh(); }, 500);
    });
    events.addEventListener("ended", ({ target }) => {
      isOver = true;
      target.close();
      refresh();
    });
    // A browser asks again by itself, but never after an answer that is an error.
    events.addEventListener("error", ({ target }) => {
      if (target === events && target.readyState === EventSource.CLOSED) setTimeout(follow, 30_000);
    });
  };
  if (source && window.EventSource) {
    follow();
    document.addEventListener("visibilitychange", follow);
  }

  // Arrow keys follow the links to the previous and the next rollout or page.
  document.addEventListener("keydown", (event) => {
    if (event.target.closest("input, textarea, select, [tabindex]") || event.altKey || event.ctrlKey || event.metaKey) return;
    const relation = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
    const link = relation && document.querySelector(`a[rel=${relation}]`);
    if (link) link.click();
  });
}
