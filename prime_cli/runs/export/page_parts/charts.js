// Histograms of the reward and of every metric, as SVG.

const BINS = 20;
const WIDE = 320;
const HIGH = 120;

function draw(tag, attributes, text) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

// Few distinct values have a bar each; many are counted in BINS bins of one width.
function binsOf(values) {
  const distinct = [...new Set(values)].sort((a, b) => a - b);
  if (distinct.length <= BINS) {
    const counts = new Map(distinct.map((value) => [value, 0]));
    for (const value of values) counts.set(value, counts.get(value) + 1);
    return distinct.map((value) => ({ from: value, to: value, count: counts.get(value) }));
  }
  const low = distinct[0];
  const width = (distinct[distinct.length - 1] - low) / BINS;
  const bins = Array.from({ length: BINS }, (_, at) => (
    { from: low + at * width, to: at === BINS - 1 ? distinct[distinct.length - 1] : low + (at + 1) * width, count: 0 }));
  for (const value of values) bins[Math.min(BINS - 1, Math.floor((value - low) / width))].count += 1;
  return bins;
}

const spanOf = (bin) => (bin.from === bin.to ? number(bin.from) : ends(bin.from, bin.to).join(' to '));

function hitArea(bin, at, wide, pick) {
  const area = draw('rect', {
    class: 'hit', x: at * wide, y: 0, width: wide, height: HIGH,
    ...(pick ? { tabindex: 0, role: 'button', 'aria-label': `show rewards ${spanOf(bin)}` } : {}),
  });
  area.append(draw('title', {}, `${spanOf(bin)}: ${number(bin.count)}`));
  if (pick) {
    area.addEventListener('click', () => pick(bin));
    area.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); pick(bin); }
    });
  }
  return area;
}

function histogram(name, values, pick) {
  const bins = binsOf(values);
  const most = Math.max(...bins.map((bin) => bin.count));
  const wide = WIDE / bins.length;
  const told = `${name}: ${number(values.length)} values from ${number(bins[0].from)} to ${number(bins[bins.length - 1].to)}`;
  const svg = draw('svg', { viewBox: `0 0 ${WIDE} ${HIGH + 18}`, role: pick ? 'group' : 'img', 'aria-label': told });
  bins.forEach((bin, at) => {
    const high = (bin.count / most) * (HIGH - 16);
    const bar = Math.min(wide * 0.9, 60);
    svg.append(draw('rect', {
      class: 'bar', x: (at + 0.5) * wide - bar / 2, y: HIGH - high, width: bar, height: high,
    }));
    if (bins.length <= 8 && bin.count) {
      svg.append(draw('text', { x: (at + 0.5) * wide, y: HIGH - high - 3, 'text-anchor': 'middle' }, bin.count));
    }
  });
  svg.append(draw('line', { x1: 0, y1: HIGH, x2: WIDE, y2: HIGH }));
  label(svg, bins, wide);
  bins.forEach((bin, at) => svg.append(hitArea(bin, at, wide, pick)));
  return make('figure', {}, make('h3', {}, name), svg);
}

function label(svg, bins, wide) {
  const under = (x, text, anchor) =>
    svg.append(draw('text', { x, y: HIGH + 14, 'text-anchor': anchor }, text));
  if (bins.length <= 8) {
    bins.forEach((bin, at) => under((at + 0.5) * wide, number(bin.from), 'middle'));
    return;
  }
  under(0, number(bins[0].from), 'start');
  under(WIDE, number(bins[bins.length - 1].to), 'end');
}

function drawCharts(pick) {
  const scored = rollouts.filter((rollout) => rollout.reward !== null);
  const charts = [];
  if (scored.length) charts.push(histogram('reward', scored.map((rollout) => rollout.reward), pick));
  for (const name of Object.keys(run.summary.metrics)) {
    const values = scored.map((rollout) => rollout.metrics[name]).filter((value) => typeof value === 'number');
    if (values.length) charts.push(histogram(name, values));
  }
  byId('charts').replaceChildren(...(charts.length ? charts : [make('p', {}, 'There are no scores.')]));
}
