'use strict';
// What the page holds: the run, an index of its rollouts, and their transcripts in packed chunks.

const byId = (id) => document.getElementById(id);
const run = JSON.parse(byId('run').textContent);
const packed = [...document.querySelectorAll('script.transcripts')];
const rollouts = [];

function unfold(index, chunk) {
  index.example.forEach((example, place) => {
    const metrics = {};
    for (const [name, values] of Object.entries(index.metrics)) metrics[name] = values[place];
    rollouts.push({
      example, chunk, place, metrics, rollout: index.rollout[place], reward: index.reward[place],
      kind: index.kind[place], error: index.error[place], truncated: index.truncated[place],
      output: index.output[place], seconds: index.seconds[place], stop: index.stop[place],
    });
  });
}
[...document.querySelectorAll('script.index')].forEach((element, chunk) => {
  unfold(JSON.parse(element.textContent), chunk);
});

// The lines of one chunk, each the JSON of a rollout; null where transcripts were left out.
const opened = new Map();
const MOST_OPENED = 6;
function lines(chunk) {
  let found = opened.get(chunk);
  if (found === undefined) found = inflate(JSON.parse(packed[chunk].textContent));
  opened.delete(chunk);
  opened.set(chunk, found);
  if (opened.size > MOST_OPENED) opened.delete(opened.keys().next().value);
  return found;
}

async function inflate(base64) {
  if (base64 === null) return null;
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return (await new Response(stream).text()).split('\n');
}

async function transcriptOf(rollout) {
  const found = await lines(rollout.chunk);
  return found === null ? null : JSON.parse(found[rollout.place]);
}

// Whether some text inside `value` holds `wanted`, which is in lower case.
function holds(value, wanted) {
  if (typeof value === 'string') return value.toLowerCase().includes(wanted);
  if (value === null || typeof value !== 'object') return false;
  return Object.values(value).some((part) => holds(part, wanted));
}

// The escaped form is looked for first: most lines need not be parsed.
function lineHolds(line, wanted) {
  const escaped = JSON.stringify(wanted).slice(1, -1);
  return line.toLowerCase().includes(escaped) && holds(JSON.parse(line), wanted);
}

function number(value) {
  if (value === null || value === undefined) return 'none';
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4)));
}

// An element with attributes and children; text only ever becomes text.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return element;
}

// "page 2 of 5" with its buttons; nothing where one page holds everything.
function pager(element, page, pages, go) {
  if (pages < 2) return element.replaceChildren();
  const button = (text, target, dead) => {
    const made = make('button', { type: 'button', onclick: () => go(target) }, text);
    made.disabled = dead;
    return made;
  };
  return element.replaceChildren(
    button('First', 0, page === 0), button('Previous', page - 1, page === 0),
    make('span', {}, `page ${page + 1} of ${pages}`),
    button('Next', page + 1, page === pages - 1), button('Last', pages - 1, page === pages - 1),
  );
}
