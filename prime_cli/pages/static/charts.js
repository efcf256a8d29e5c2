// Charts: the values at the pointer, or where the arrow keys are, stand beside the title.
// They are read out of the table behind a chart, so a chart without a script lacks nothing.
"use strict";
{
  const numeric = (text) => Number(text.replaceAll(",", ""));
  const place = (value, low, high) => (high > low ? (value - low) / (high - low) : 0.5);

  // [part of the axis, words] of each place that has values, from left to right.
  const readStops = (figure) => {
    const heads = [...figure.querySelectorAll("thead th")].map((each) => each.textContent);
    const rows = [...figure.querySelectorAll("tbody tr")].map((row) => [...row.cells].map((each) => each.textContent));
    if (heads[0] === "From") {
      const [low, high] = [numeric(rows[0][0]), numeric(rows.at(-1)[1])];
      return rows.map(([from, to, count]) => [place((numeric(from) + numeric(to)) / 2, low, high), `${from} to ${to}: ${count}`]);
    }
    if (heads[0] !== "Curve") return [];
    const column = (row, name) => row[heads.indexOf(name)] ?? "";
    const several = new Set(rows.map((row) => row[0])).size > 1;
    const found = new Map();
    for (const row of rows) {
      const span = column(row, "Low") && ` (${column(row, "Low")} to ${column(row, "High")})`;
      const words = `${several ? `${row[0]} ` : ""}${row[2]}${span}`;
      found.set(row[1], [...(found.get(row[1]) ?? []), words]);
    }
    const names = [...found.keys()];
    const at = names.some((each) => Number.isNaN(numeric(each))) ? names.map((_, index) => index) : names.map(numeric);
    const [low, high] = [Math.min(...at), Math.max(...at)];
    return names
      .map((name, index) => [place(at[index], low, high), `${heads[1]} ${name}: ${found.get(name).join(", ")}`])
      .sort(([one], [other]) => one - other);
  };

  const watchChart = (figure) => {
    const [drawing, said] = [figure.querySelector("svg"), figure.querySelector("figcaption span")];
    const [axis, stops, usual] = [drawing.querySelector(".axis"), readStops(figure), said.textContent];
    if (!stops.length) return;
    const [left, right] = [Number(axis.getAttribute("x1")), Number(axis.getAttribute("x2"))];
    const rule = document.createElementNS(drawing.namespaceURI, "line");
    rule.setAttribute("class", "cursor");
    let chosen = -1;
    const show = (index) => {
      chosen = Math.min(Math.max(index, 0), stops.length - 1);
      const at = left + stops[chosen][0] * (right - left);
      for (const [name, value] of Object.entries({ x1: at, x2: at, y1: 30, y2: axis.getAttribute("y1") })) rule.setAttribute(name, value);
      drawing.append(rule);
      said.textContent = stops[chosen][1];
    };
    const rest = () => {
      rule.remove();
      said.textContent = usual;
      chosen = -1;
    };
    drawing.tabIndex = 0;
    said.setAttribute("aria-live", "polite");
    drawing.addEventListener("pointermove", (event) => {
      const shape = drawing.getBoundingClientRect();
      const at = ((event.clientX - shape.left) / shape.width * drawing.viewBox.baseVal.width - left) / (right - left);
      const gaps = stops.map(([each]) => Math.abs(each - at));
      show(gaps.indexOf(Math.min(...gaps)));
    });
    drawing.addEventListener("pointerleave", rest);
    drawing.addEventListener("blur", rest);
    drawing.addEventListener("keydown", (event) => {
      const next = { ArrowLeft: chosen < 0 ? stops.length - 1 : chosen - 1, ArrowRight: chosen + 1, Home: 0, End: stops.length - 1 }[event.key];
      if (next === undefined) return;
      event.preventDefault();
      show(next);
    });
  };
  globalThis.watchCharts = (part) => part.querySelectorAll("figure.chart").forEach(watchChart);
  watchCharts(document);
}
