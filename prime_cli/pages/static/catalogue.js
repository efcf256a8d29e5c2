// The list of environments: results as they are typed for, by the page that a form would lead to.
"use strict";

(() => {
  const search = document.getElementById("search");
  const filters = document.getElementById("filters");
  if (!search || !filters) return;
  let waiting, current;

  const show = async () => {
    filters.elements.search.value = search.value;
    const query = new URLSearchParams([...new FormData(filters)].filter(([, value]) => value));
    const address = query.size ? `/?${query}` : "/";
    current?.abort();
    current = new AbortController();
    try {
      const answer = await fetch(address, { signal: current.signal });
      const found = new DOMParser().parseFromString(await answer.text(), "text/html");
      const results = found.getElementById("results");
      if (!results) return location.assign(address);
      document.getElementById("results").replaceChildren(...results.childNodes);
      document.querySelector(".terminal code").textContent =
        found.querySelector(".terminal code").textContent;
      history.replaceState(null, "", address);
    } catch (error) {
      if (error.name !== "AbortError") location.assign(address);
    }
  };

  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(show, 150);
  });
  filters.addEventListener("change", () => filters.requestSubmit());
})();
